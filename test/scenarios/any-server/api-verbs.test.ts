import { expect, test } from 'vitest'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { destination } from '../../support/gateway.ts'
import { seededLedger } from '../../support/seeded-ledger.ts'
import { withUnknownEffects } from '../../support/unknown-effects.ts'
import { until } from '../../support/until.ts'

/*
 * Reads and actions of operators besides events: attention, pauses, outbox, subscribers,
 * rejections.
 */

const RECEIVE_ONLY = { args: ['--receive-only'] }

test('each decision takes effect, and the audit has its actor, reason and address', async () => {
  const keys = ['mail:1', 'mail:2', 'mail:3', 'mail/4 ü']
  const { db, jobIs } = await withUnknownEffects(keys)
  const { get, post } = await adminApi({ db, ...RECEIVE_ONLY })
  const listed = (await get('/attention')).json.data
  expect(listed.map((one: { key: string }) => one.key)).toEqual(keys)
  expect(listed[0]).toMatchObject({
    downstreamKey: 'down-mail:1',
    jobs: [{ subscriber: 'all', source: 'test' }],
    endedAt: new Date(1_700_000_000_000).toISOString(),
    inputHash: '0aff',
    call: {
      eventType: 'x',
      eventKey: 'evt_0',
      source: 'test',
      subscriber: 'all',
      attempt: 3,
      error: 'the reply was lost',
    },
  })
  const page = (await get('/attention?limit=2')).json
  const next = (await get(`/attention?limit=2&cursor=${page.next}`)).json
  expect(next.data.map((one: { key: string }) => one.key)).toEqual(keys.slice(2))
  expect((await get(`/attention?limit=2&cursor=${next.previous}`)).json.data).toEqual(page.data)

  const big = '{"amount":9007199254740993}'
  expectProblem(
    await post('/attention/confirm-done', `{"key":"mail:1","why":"x","result":${big}}`),
    400,
    'REQUEST_INVALID',
  )
  const done = await post('/attention/confirm-done', { key: 'mail:1', why: 'seen', resultText: big })
  expect(done.json).toEqual({ key: 'mail:1', jobs: 1 })
  expect(
    await db.rows(`select result::text as result, state from hookonce.effect where key = 'mail:1'`),
  ).toEqual([{ result: '{"amount": 9007199254740993}', state: 'done' }])
  expect((await post('/attention/confirm-not-done', { key: 'mail:2', why: 'not there' })).json.jobs).toBe(1)
  expect((await post('/attention/retry-same-key', { key: 'mail:3', why: 'try' })).json.jobs).toBe(1)
  expect((await post('/attention/abandon', { key: 'mail/4 ü', why: 'too old' })).json.jobs).toBe(1)
  const states = await Promise.all(keys.map(async (_, n) => (await jobIs(n, 'state')).state))
  expect(states).toEqual(['received', 'received', 'received', 'failed'])
  expectProblem(await post('/attention/confirm-done', { key: 'mail:1', why: 'x' }), 409, 'EFFECT_NOT_UNKNOWN')
  expectProblem(await post('/attention/confirm-done', { key: 'none', why: 'x' }), 409, 'EFFECT_NOT_UNKNOWN')
  expect((await get('/audit')).json.data.map((one: object) => Object.values(one).slice(2, 5))).toEqual([
    ['env:HOOKONCE_ADMIN_TOKEN', 'abandon', 'too old'],
    ['env:HOOKONCE_ADMIN_TOKEN', 'retry-same-key', 'try'],
    ['env:HOOKONCE_ADMIN_TOKEN', 'confirm-not-done', 'not there'],
    ['env:HOOKONCE_ADMIN_TOKEN', 'confirm-done', 'seen'],
  ])
  const audit = (await get('/audit?limit=3')).json
  const older = (await get(`/audit?limit=3&cursor=${audit.next}`)).json
  expect(older.data).toHaveLength(1)
  expect((await get(`/audit?limit=3&cursor=${older.previous}`)).json.data).toEqual(audit.data)
})

test('sources and subscribers show their health, are paused and resumed, with an audit entry each', async () => {
  const { db, job } = await seededLedger()
  await job(1, { state: 'received' })
  const { get, post } = await adminApi({ db, ...RECEIVE_ONLY })
  const source = async () =>
    (await get('/sources')).json.data.find((one: { source: string }) => one.source === 'test')
  expect(await source()).toMatchObject({
    health: 'unattended',
    waiting: 1,
    lastEvent: { eventType: 'x', secret: 1 },
    secrets: [{ secret: 1 }],
  })
  expect((await post('/sources/test/pause', { why: 'maintenance' })).json).toMatchObject({ paused: true })
  expect((await source()).health).toBe('paused')
  expect((await post('/subscribers/test/all/pause', { why: 'also' })).json).toMatchObject({
    subscriber: 'all',
  })
  expect((await post('/sources/test/resume', { why: 'over' })).json).toMatchObject({
    paused: false,
    changed: true,
  })
  expect((await post('/subscribers/test/all/resume', { why: 'over' })).json).toMatchObject({
    paused: false,
    changed: true,
    probes: 0,
  })
  expect((await post('/subscribers/test/all/resume', { why: 'again' })).json).toMatchObject({
    paused: false,
    changed: false,
    probes: 0,
  })
  const typo = await post('/sources/tset/pause', { why: 'x' })
  expectProblem(typo, 404, 'SOURCE_UNKNOWN')
  expect(typo.json.detail).toContain('"tset" (did you mean "test"?)')
  expectProblem(await post('/subscribers/test/none/resume', { why: 'x' }), 404, 'SUBSCRIBER_UNKNOWN')
  expect(await db.rows('select action, subject, why, address from hookonce.audit order by id')).toEqual([
    { action: 'pause', subject: 'test', why: 'maintenance', address: '127.0.0.1' },
    { action: 'pause', subject: 'test all', why: 'also', address: '127.0.0.1' },
    { action: 'resume', subject: 'test', why: 'over', address: '127.0.0.1' },
    { action: 'resume', subject: 'test all', why: 'over', address: '127.0.0.1' },
  ])
  const plan = (await get('/subscribers/test/all/waiting')).json
  expect(plan).toMatchObject({ jobs: 1 })
  expect((await post('/subscribers/test/all/waiting', { why: 'gone' })).json).toEqual({ jobs: 1 })
  expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'failed' }])
  expect((await get('/destinations')).json.data).toMatchObject([
    {
      name: 'app',
      types: 'invoice.*',
      sources: ['stripe'],
      isServed: false,
      circuit: { state: 'closed', reason: null },
    },
  ])
  expect((await get('/destinations')).text).not.toContain('whsec')
})

test('messages of the outbox are listed in pages, shown and published again', async () => {
  const { db, row, subscriber } = await seededLedger()
  for (let n = 0; n < 7; n += 1) {
    const isDone = n < 5
    await row('outbox', {
      shard: n % 3,
      id: `00000000-0000-4000-8000-00000000000${n}`,
      lane: `00000000-0000-4000-9000-00000000000${n}`,
      receipt_id: `00000000-0000-4000-8000-00000000000${n}`,
      seq: n,
      subscriber,
      state: isDone ? 'failed' : 'waiting',
      finished_at: isDone ? new Date(1_700_000_000_000 + n) : null,
      tenant: n === 0 ? 'acme' : 'default',
      topic: 'orders',
      payload: '{"n":12345678901234567890}',
    })
    const id = `00000000-0000-4000-9000-00000000000${n}`
    if (!isDone) await row('outbox_lane', { shard: n % 3, id, tail: n, topic: 'orders' })
  }
  const { get, post, token } = await adminApi({ db, ...RECEIVE_ONLY })
  const first = (await get('/outbox?limit=3')).json
  const second = (await get(`/outbox?limit=3&cursor=${first.next}`)).json
  const ids = [...first.data, ...second.data].map(({ id }: { id: string }) => id.at(-1))
  expect(ids).toEqual(['4', '3', '2', '1', '0'])
  expect(second.next).toBeNull()
  expect((await get(`/outbox?limit=3&cursor=${second.previous}`)).json.data).toEqual(first.data)
  const waiting = (await get('/outbox?state=waiting&limit=1')).json
  expect((await get(`/outbox?state=waiting&limit=1&cursor=${waiting.next}`)).json.data).toHaveLength(1)
  const shown = (await get(`/outbox/${first.data[0].id}`)).json
  expect(shown).toMatchObject({ payloadText: '{"n":12345678901234567890}', state: 'failed' })
  const bound = await token({ name: 'bound', role: 'operator', tenant: 'acme' })
  expect((await get('/outbox', { token: bound })).json.data).toHaveLength(1)
  expectProblem(await get(`/outbox/${first.data[0].id}`, { token: bound }), 404, 'MESSAGE_UNKNOWN')
  expectProblem(
    await post(`/outbox/${first.data[0].id}/replay`, { why: 'x' }, { token: bound }),
    404,
    'MESSAGE_UNKNOWN',
  )
  const replayed = await post(`/outbox/${first.data[0].id}/replay`, { why: 'the broker is back' })
  expect(replayed.json).toMatchObject({ replayed: true })
  expect(await db.number(`select count(*) from hookonce.outbox where state = 'waiting'`)).toBe(3)
  expectProblem(await get('/outbox/zzz'), 404, 'MESSAGE_UNKNOWN')
})

test('stuck lanes are listed with the reason, and failed messages are published again', async () => {
  const { db, row, subscriber } = await seededLedger()
  const id = (kind: number, n: number) => `00000000-0000-4000-${kind}000-00000000000${n}`
  async function message(n: number, lane: number, columns: Record<string, unknown>): Promise<void> {
    const place = { shard: lane % 16, id: id(8, n), lane: id(9, lane), receipt_id: id(8, n), seq: n }
    const content = { subscriber, tenant: 'default', topic: 'orders', key: `k${lane}`, payload: '{}' }
    await row('outbox', { ...place, ...content, ...columns })
  }
  for (const n of [1, 2, 3]) await message(n, 1, {})
  await message(4, 2, {})
  await message(5, 3, { tenant: 'acme' })
  const dueAt = new Date(Date.now() + 60_000)
  const refused = { attempt: 4, due_at: dueAt, reason: 'refused by the broker' }
  await row('outbox_lane', { shard: 1, id: id(9, 1), tail: 3, topic: 'orders', ...refused })
  await row('outbox_lane', { shard: 2, id: id(9, 2), tail: 4, topic: 'orders' })
  await row('outbox_lane', { shard: 3, id: id(9, 3), tail: 5, topic: 'orders', crashes: 1 })
  const finished_at = new Date()
  for (const [n, topic, tenant] of [
    [6, 'orders', 'default'],
    [7, 'other', 'default'],
    [8, 'orders', 'acme'],
  ] as const)
    await message(n, n, { state: 'failed', finished_at, topic, tenant })

  const { get, post, token } = await adminApi({ db, ...RECEIVE_ONLY })
  const stuck = (await get('/outbox/lanes')).json.data
  expect(stuck.map((one: { messageId: string }) => one.messageId)).toEqual([id(8, 1), id(8, 5)])
  expect(stuck[0]).toMatchObject({
    ...{ topic: 'orders', key: 'k1', waiting: 3, attempts: 4, crashes: 0, isPublishing: false },
    ...{ reason: 'refused by the broker', dueAt: dueAt.toISOString() },
  })
  const bound = await token({ name: 'bound', role: 'operator', tenant: 'acme' })
  const own = (await get('/outbox/lanes', { token: bound })).json.data
  expect(own.map((one: { tenant: string }) => one.tenant)).toEqual(['acme'])

  expectProblem(
    await post(`/outbox/${id(8, 1)}/retry`, { why: 'x' }, { token: bound }),
    404,
    'MESSAGE_UNKNOWN',
  )
  const dueAgain = async () => db.number('select count(*) from hookonce.outbox_lane where due_at > now()')
  // A relay that holds the lane is already publishing it.
  await db.rows('update hookonce.outbox_lane set worker = 1 where shard = 1')
  const retry = async () => (await post(`/outbox/${id(8, 2)}/retry`, { why: 'it is up' })).json
  expect(await retry()).toEqual({ messageId: id(8, 2), retried: false })
  expect(await dueAgain()).toBe(1)
  await db.rows('update hookonce.outbox_lane set worker = null where shard = 1')
  expect(await retry()).toEqual({ messageId: id(8, 2), retried: true })
  expect(await dueAgain()).toBe(0)
  expect(await retry()).toMatchObject({ retried: false })
  expect(
    await db.rows(`select why, subject, detail from hookonce.audit where action = 'retry-lane'`),
  ).toEqual([{ why: 'it is up', subject: id(8, 2), detail: { topic: 'orders', key: 'k1' } }])

  const failed = async () =>
    (await db.rows(`select id from hookonce.outbox where state = 'failed' order by id`)).map((one) => one.id)
  const mine = await post('/outbox/replay', { why: 'the broker is back' }, { token: bound })
  expect(mine.json).toEqual({ replayed: 1, isComplete: true })
  expect(await failed()).toEqual([id(8, 6), id(8, 7)])
  expect((await post('/outbox/replay', { why: 'mended', topic: 'orders' })).json.replayed).toBe(1)
  expect(await failed()).toEqual([id(8, 7)])
  expect(
    await db.rows(
      `select action, why, tenant, detail from hookonce.audit where action like 'replay%' order by id`,
    ),
  ).toEqual([
    { action: 'replay-messages', why: 'the broker is back', tenant: 'acme', detail: { messages: 1 } },
    { action: 'replay-messages', why: 'mended', tenant: 'default', detail: { topic: 'orders', messages: 1 } },
  ])
})

test('rejections have their diagnosis, and a tenant sees only those of its own sources', async () => {
  const { db, row } = await seededLedger()
  await row('source', { tenant: 'acme', name: 'shop', key_seconds: 1e6, body_seconds: 1e5 })
  for (const source of ['shop', 'test', 'acme/github', 'beta/github'])
    await row('rejection', {
      source,
      code: 'SIGNATURE_MISMATCH',
      count: 3,
      last_detail: 'no match',
      diagnosis: 'the body was parsed',
    })
  const { get, token } = await adminApi({ db, ...RECEIVE_ONLY })
  expect((await get('/rejections')).json.data).toHaveLength(4)
  const bound = await token({ name: 'bound', role: 'viewer', tenant: 'acme' })
  const own = (await get('/rejections', { token: bound })).json.data as { source: string }[]
  expect(own.map(({ source }) => source).sort()).toEqual(['acme/github', 'shop'])
  expect(own[0]).toMatchObject({
    ...{ header: null },
    ...{ code: 'SIGNATURE_MISMATCH', count: 3, diagnosis: 'the body was parsed' },
    advice: expect.stringContaining('Check the secret of this endpoint'),
  })
})

test('a bound token sees of a destination only the routes of its tenant', async () => {
  const { url } = await destination()
  const github = { provider: 'github', secret: 'env:STRIPE_SECRET' }
  const config = {
    sources: { 'acme/github': github, 'beta/github': github },
    destinations: { app: { url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] } },
    routes: [
      { from: 'acme/github', types: 'push', to: 'app' },
      { from: 'beta/github', types: 'release', to: 'app' },
    ],
  }
  const { get, token } = await adminApi({ config, args: ['--receive-only'] })
  expect((await get('/destinations')).json.data).toMatchObject([
    { types: 'push, release', sources: ['acme/github', 'beta/github'], concurrency: 32, timeoutMs: 60_000 },
  ])
  const bound = await token({ name: 'bound', role: 'viewer', tenant: 'acme' })
  expect((await get('/destinations', { token: bound })).json.data).toMatchObject([
    { types: 'push', sources: ['acme/github'] },
  ])
  const other = await token({ name: 'other', role: 'viewer', tenant: 'gamma' })
  expect((await get('/destinations', { token: other })).json.data).toEqual([])
})

test('workers and status are served, also by the first of several processes', async () => {
  const { get, post } = await adminApi({ args: ['--workers', '2'] })
  expect((await get('/workers')).json.data).toHaveLength(2)
  expect((await get('/status')).json).toMatchObject({ totals: { failed: 0 }, workers: [{}, {}] })
  expect((await post('/sources/stripe/pause', { why: 'x' })).status).toBe(200)
})

test('a rejection has the header that it is about as a field', async () => {
  const { get, port } = await adminApi(RECEIVE_ONLY)
  const refused = await fetch(`http://127.0.0.1:${port}/in/stripe`, { method: 'POST', body: '{}' })
  expect(refused.status).toBe(401)
  await until('the rejection is written', async () => (await get('/rejections')).json.data.length > 0)
  expect((await get('/rejections')).json.data).toMatchObject([
    { code: 'SIGNATURE_MISSING', header: 'stripe-signature' },
  ])
})
