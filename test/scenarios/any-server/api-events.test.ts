import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { pageWithCursors } from '../../../src/gateway/api/cursor.ts'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver } from '../../support/gateway.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* Events over HTTP: lists in pages, the chain of one event, its body, its replay. */

test('pages of events go forward and back through everything, without bodies', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 25, { state: 'processed' })
  const { get } = await adminApi({ db })
  const all = (await get('/events?limit=200')).json
  expect(all.data).toHaveLength(25)
  expect(all).toMatchObject({ next: null, previous: null })
  expect(Object.keys(all.data[0]).sort()).toEqual(
    'attempts duplicates eventKey eventType id imported mismatches objectId receivedAt source states tenant'.split(
      ' ',
    ),
  )
  const pages: string[][] = []
  let page = (await get('/events?limit=10')).json
  pages.push(idsOf(page))
  while (page.next !== null) {
    page = (await get(`/events?limit=10&cursor=${page.next}`)).json
    pages.push(idsOf(page))
  }
  expect(pages.flat()).toEqual(idsOf(all))
  expect(pages.map((ids) => ids.length)).toEqual([10, 10, 5])
  const back = (await get(`/events?limit=10&cursor=${page.previous}`)).json
  expect(idsOf(back)).toEqual(pages[1])
  const first = (await get(`/events?limit=10&cursor=${back.previous}`)).json
  expect(idsOf(first)).toEqual(pages[0])
  expect(first.previous).toBeNull()
  expect(idsOf((await get(`/events?limit=10&cursor=${first.next}`)).json)).toEqual(pages[1])
})

test('stale, moved and imported events are told apart from events that nobody wanted', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 4, { state: 'processed' })
  const ids = (await db.rows<{ id: string }>('select id from hookonce.receipt')).map(({ id }) => id)
  const [stale, moved, imported, unwanted] = ids
  const setReason = 'update hookonce.job set reason = $2 where receipt_id = $1'
  await db.rows(setReason, [stale, 'a newer event is known'])
  await db.rows(setReason, [moved, 'MOVED to "other" by olga: renamed'])
  await db.rows('delete from hookonce.job where receipt_id = any($1)', [[imported, unwanted]])
  // Like an import, which takes over keys without bodies.
  await db.rows('update hookonce.receipt set secret = -1, body = null, body_sha256 = null where id = $1', [
    imported,
  ])

  const { get } = await adminApi({ db, args: ['--receive-only'] })
  const { data } = (await get('/events')).json
  const shown = (id: string | undefined) => {
    const { states, imported } = data.find((event: { id: string }) => event.id === id)
    return { states, imported }
  }
  expect(ids.map(shown)).toEqual([
    { states: ['stale'], imported: false },
    { states: ['moved'], imported: false },
    { states: [], imported: true },
    { states: [], imported: false },
  ])
  expect((await get(`/events/${imported}`)).json).toMatchObject({
    imported: true,
    receipt: { bodySha256: null, bodyBytes: null },
  })
  expect((await get(`/events/${stale}`)).json.jobs).toMatchObject([{ state: 'processed', outcome: 'stale' }])
  expect((await get(`/events/${moved}`)).json.jobs).toMatchObject([{ state: 'processed', outcome: 'moved' }])
})

const idsOf = (page: { data: { id: string }[] }): string[] => page.data.map(({ id }) => id)

test('the result of an effect is shown to callers that may read bodies', async () => {
  const { db, port, get, token } = await adminApi()
  expect(await deliver(port, 'evt_1')).toBe(202)
  const [{ id }] = (await get('/events?key=evt_1')).json.data
  await db.rows(
    `insert into hookonce.effect (shard, id, epoch, receipt_id, subscriber, fence, state, mode, tenant, key, downstream_key, result)
     select 0, gen_random_uuid(), 1, $1::uuid, s.id, 1, 'done', 'keyed', 'default', 'mail:1', 'k', '{"to":"secret@example.com"}'
     from hookonce.subscriber s limit 1`,
    [id],
  )
  const shown = (await get(`/events/${id}?payloads=true`)).json.effects
  expect(shown).toMatchObject([{ key: 'mail:1', resultText: '{"to": "secret@example.com"}' }])
  const viewer = await token({ name: 'vera', role: 'viewer' })
  const seen = await get(`/events/${id}`, { token: viewer })
  expect(seen.json.effects).toMatchObject([{ key: 'mail:1', resultText: null }])
  expect(seen.text).not.toContain('secret@example.com')
  const denied = await get(`/events/${id}?payloads=true`, { token: viewer })
  expectProblem(denied, 403, 'FORBIDDEN')
  expect(denied.text).not.toContain('secret@example.com')
})

test('each view of headers and results is in the audit, and the chain shows neither', async () => {
  const { db, port, get, token } = await adminApi()
  expect(await deliver(port, 'evt_1')).toBe(202)
  const [{ id }] = (await get('/events?key=evt_1')).json.data
  const looks = () =>
    db.rows(`select actor, action, subject, address from hookonce.audit where action like 'read-%'`)
  const olga = await token({ name: 'olga', role: 'operator' })

  const chain = await get(`/events/${id}`, { token: olga })
  expect(chain.json.receipt.headers).toBeNull()
  expect(chain.text).not.toContain('stripe-signature')
  expect(await looks()).toEqual([])

  const shown = await get(`/events/${id.slice(0, 8)}?payloads=true`, { token: olga })
  expect(shown.json.receipt.headers).toContain('stripe-signature: ')
  expect(await looks()).toEqual([
    { actor: 'olga', action: 'read-headers', subject: id, address: '127.0.0.1' },
  ])

  // The body is past its retention, so there is nothing to show.
  await db.rows(`update hookonce.source set body_seconds = 0`)
  expect((await get(`/events/${id}?payloads=true`, { token: olga })).json.receipt.headers).toBeNull()
  expect(await looks()).toHaveLength(1)
})

test('an event shows its whole chain, and its body comes as it arrived', async () => {
  const { db, port, get } = await adminApi()
  expect(await deliver(port, 'evt_1')).toBe(202)
  expect(await deliver(port, 'evt_1')).toBe(200)
  await until('it is forwarded', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  const [{ id }] = (await get('/events?key=evt_1')).json.data
  await until(
    'the duplicate is counted',
    async () => (await get(`/events/${id}`)).json.deliveries.count === 2,
  )
  const chain = (await get(`/events/${id}?payloads=true`)).json
  expect(chain).toMatchObject({
    receipt: { id, source: 'stripe', eventKey: 'evt_1', eventType: 'invoice.paid', secret: 1 },
    deliveries: { count: 2, firstRepeatAt: expect.any(String), mismatches: 0 },
    jobs: [{ subscriber: 'app', state: 'processed', outcome: 'processed', attempt: 1, held: false }],
    attempts: [{ subscriber: 'app', number: 1, outcome: 'processed' }],
    effects: [],
    messages: [],
    decisions: [],
  })
  expect(chain.receipt.headers).not.toContain('whsec')
  expect(JSON.stringify(chain)).not.toContain('"body"')

  const body = await get(`/events/${id}/body`)
  expect(body.text).toBe(JSON.stringify({ id: 'evt_1', type: 'invoice.paid' }))
  expect(createHash('sha256').update(body.text).digest('hex')).toBe(chain.receipt.bodySha256)
  expect(Object.fromEntries(body.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${id}.body"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
  expect((await get(`/events/${id}`)).json.decisions).toMatchObject([
    { action: 'read-headers', actor: 'env:HOOKONCE_ADMIN_TOKEN', address: '127.0.0.1' },
    { action: 'read-body', actor: 'env:HOOKONCE_ADMIN_TOKEN', address: '127.0.0.1' },
  ])
  // A prefix of the id is enough.
  expect((await get(`/events/${id.slice(0, 8)}`)).status).toBe(200)
})

test('a replay is planned, done once per Idempotency-Key, and in the audit with actor, reason and address', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'failed' })
  const { get, post } = await adminApi({ db, args: ['--receive-only'] })
  const [{ id }] = (await get('/events')).json.data
  const plan = (await get(`/events/${id}/replay`)).json
  expect(plan.jobs).toEqual([{ subscriber: 'app', state: 'failed', again: true }])
  expect(plan.unattended).toMatchObject([{ source: 'test', subscriber: 'app' }])
  const headers = { 'idempotency-key': 'a-key' }
  const first = await post(`/events/${id}/replay`, { why: 'fixed' }, { headers })
  expect(first).toMatchObject({ status: 200, json: { receiptId: id, jobs: 1 } })
  await db.rows(`update hookonce.job set state = 'failed', finished_at = now()`)
  const again = await post(`/events/${id}/replay`, { why: 'fixed' }, { headers })
  expect(again.json).toEqual(first.json)
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(1)
  expect(await db.rows('select actor, action, why, subject, address from hookonce.audit')).toEqual([
    { actor: 'env:HOOKONCE_ADMIN_TOKEN', action: 'replay', why: 'fixed', subject: id, address: '127.0.0.1' },
  ])
  expectProblem(await post(`/events/${id}/replay`, { why: 'other' }, { headers }), 422, 'KEY_REUSED')
  expectProblem(
    await post(`/events/${id}/replay`, { why: 'x' }, { headers: { 'idempotency-key': ' ' } }),
    400,
    'KEY_MALFORMED',
  )
})

test('an Idempotency-Key belongs to one token: another with the same name does not share it', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'failed' })
  const one = await adminApi({ db, args: ['--receive-only'] })
  const [{ id }] = (await one.get('/events')).json.data
  const headers = { 'idempotency-key': 'a-key' }
  const failed = () => db.number(`select count(*) from hookonce.job where state = 'failed'`)
  const replay = async (token: string, more: Record<string, string> = {}) => {
    await db.rows(`update hookonce.job set state = 'failed', finished_at = now()`)
    const answer = await one.post(
      `/events/${id}/replay`,
      { why: 'fixed' },
      { token: token || null, headers: { ...headers, ...more } },
    )
    expect(answer).toMatchObject({ status: 200, json: { jobs: 1 } })
    return { isRun: (await failed()) === 0 }
  }
  const first = await one.token({ name: 'ci', role: 'operator' })
  expect(await replay(first)).toEqual({ isRun: true })
  expect(await replay(first)).toEqual({ isRun: false })
  expect((await one.call('DELETE', '/tokens/ci?why=left')).status).toBe(200)
  const second = await one.token({ name: 'ci', role: 'operator' })
  expect(await replay(second)).toEqual({ isRun: true })

  // A browser's session is the same caller as its token.
  const logIn = await one.post('/session', { token: second }, { token: null })
  const cookie = logIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const session = { cookie, 'x-hookonce-csrf': logIn.json.csrf }
  expect(await replay('', session)).toEqual({ isRun: false })
  expect((await one.call('DELETE', '/tokens/ci?why=left')).status).toBe(200)
  const third = await one.token({ name: 'ci', role: 'operator' })
  const again = await one.post('/session', { token: third }, { token: null })
  const other = {
    cookie: again.headers.get('set-cookie')?.split(';')[0] ?? '',
    'x-hookonce-csrf': again.json.csrf,
  }
  expect(await replay('', other)).toEqual({ isRun: true })
})

test('another token in the environment shares no Idempotency-Key with the one before', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'failed' })
  for (const HOOKONCE_ADMIN_TOKEN of [
    'the-first-token-of-this-gateway',
    'the-second-token-of-this-gateway',
  ]) {
    const { gateway, get, post } = await adminApi({
      db,
      args: ['--receive-only'],
      env: { HOOKONCE_ADMIN_TOKEN },
    })
    const as = { token: HOOKONCE_ADMIN_TOKEN }
    const [{ id }] = (await get('/events', as)).json.data
    await db.rows(`update hookonce.job set state = 'failed', finished_at = now()`)
    const headers = { 'idempotency-key': 'a-key' }
    expect(await post(`/events/${id}/replay`, { why: 'fixed' }, { ...as, headers })).toMatchObject({
      status: 200,
    })
    expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(0)
    await gateway.stop()
  }
})

const SOME_ID = '00000000-0000-0000-0000-000000000000'
const FORGED = [
  ['events', `2026-02-30T00:00:00.000000Z_${SOME_ID}`],
  ['attention', `2026-13-01T00:00:00.000000Z_${SOME_ID}`],
  ['attention', 'x'],
  ['outbox', `yesterday_${SOME_ID}`, 'failed'],
  ['outbox', `99999_${SOME_ID}_1`, 'waiting'],
  ['audit', '1; drop table'],
] as const

test('bad requests get a clear problem document each', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 12)
  const { get, post, call, base } = await adminApi({ db, args: ['--receive-only'] })
  const { next, data } = (await get('/events?limit=5')).json
  const [{ id }] = data
  expectProblem(await get('/events?limit=201'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?limit=ten'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?limit=5&limit=6'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?colour=red'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?state=lost'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?since=yesterday'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?since=2026-02-31T99:00:00Z'), 400, 'REQUEST_INVALID')
  expectProblem(await get('/events?q=a%00b'), 400, 'REQUEST_INVALID')
  for (const [path, detail] of [
    ['limit=ten', 'query.limit: must be a number; it is the text "ten"'],
    ['limit=201', 'query.limit: must be at most 200; it is 201'],
    ['limit=1.5', 'query.limit: must be a whole number; it is 1.5'],
    [
      'state=faild',
      'query.state: must be "received", "processing", "retrying", "processed", "failed" or "attention" (did you mean "failed"?); it is the text "faild"',
    ],
    ['sorce=a', 'query: unknown "sorce" (did you mean "source"?); allowed: limit, cursor'],
  ])
    expect((await get(`/events?${path}`)).json.detail).toContain(detail)
  const bad = await post('/replays/plan', { state: 5, perSecond: 'fast', why: 'x' })
  expect(bad.json.errors).toEqual([
    { at: 'body.state', message: 'must be "failed" or "processed"; it is 5' },
    { at: 'body.perSecond', message: 'must be a number; it is the text "fast"' },
    { at: 'body', message: expect.stringContaining('unknown "why"; allowed: state, source') },
  ])
  expect((await post('/tokens', {})).json.errors).toContainEqual({
    at: 'body.name',
    message: 'is missing; it must be a text',
  })
  expectProblem(await get('/events?__proto__=1'), 400, 'REQUEST_INVALID')
  // The whole value counts, including a question mark.
  expect((await get('/events?q=evt?nothing')).json.data).toEqual([])
  // PostgreSQL holds neither a NUL nor half a surrogate pair. An escaped backslash is neither.
  for (const half of ['"\\ud800"', '"a\\u0000"'])
    expectProblem(
      await post('/replays', `{"name":${half},"why":"x","error":${half}}`),
      400,
      'REQUEST_INVALID',
    )
  expectProblem(
    await post('/attention/confirm-done', { key: 'x', why: 'x', resultText: '"\\u0000"' }),
    400,
    'REQUEST_INVALID',
  )
  expect((await post('/replays/plan', '{"error":"\\\\u0000"}')).status).toBe(200)
  for (const cursor of [
    'x',
    '',
    next.slice(0, -1),
    `${next}A`,
    Buffer.from("'; drop table").toString('base64url'),
  ])
    expectProblem(await get(`/events?limit=5&cursor=${cursor}`), 400, 'CURSOR_INVALID')
  // A correct checksum, which is not secret, with a position that no list has.
  for (const [list, position, more] of FORGED) {
    const filter = list === 'outbox' ? { state: more } : {}
    const { next: forged } = pageWithCursors({ data: [], next: position }, { list, filter })
    const path = `/${list}?${list === 'outbox' ? `state=${more}&` : ''}cursor=${forged}`
    expectProblem(await get(path), 400, list === 'audit' ? 'CONFIG_INVALID' : 'CURSOR_INVALID')
  }
  // A cursor of another filter.
  expectProblem(await get(`/events?limit=5&source=x&cursor=${next}`), 400, 'CURSOR_INVALID')
  expectProblem(await get('/events/00000000-0000-0000-0000-000000000000'), 404, 'RECEIPT_UNKNOWN')
  expectProblem(await get('/events/%27%3B'), 404, 'RECEIPT_UNKNOWN')
  expectProblem(await get('/nothing'), 404, 'ROUTE_UNKNOWN')
  expectProblem(await get('/events/%E0%A4%A'), 404, 'ROUTE_UNKNOWN')
  const wrong = await call('DELETE', '/events')
  expectProblem(wrong, 405, 'METHOD_UNSUPPORTED')
  expect(wrong.headers.get('allow')).toBe('GET')
  const missing = await post(`/events/${id}/replay`, {})
  expectProblem(missing, 400, 'REQUEST_INVALID')
  expect(missing.json.errors).toMatchObject([{ at: 'body.why' }])
  expectProblem(await post(`/events/${id}/replay`, '{'), 400, 'REQUEST_INVALID')
  expectProblem(await post(`/events/${id}/replay`, { why: 'x', extra: 1 }), 400, 'REQUEST_INVALID')
  expectProblem(await post(`/events/${id}/replay`, { why: 'x'.repeat(70_000) }), 413, 'REQUEST_TOO_LARGE')
  const form = { 'content-type': 'text/plain' }
  expectProblem(
    await post(`/events/${id}/replay`, '{"why":"x"}', { headers: form }),
    415,
    'CONTENT_TYPE_UNSUPPORTED',
  )
  // An ordinary request still works, and the refused requests changed nothing.
  expect((await fetch(`${base}/events`, { headers: { authorization: 'Bearer x' } })).status).toBe(401)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)
})
