import { expect, test } from 'vitest'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* Replays of many jobs: plan, start, progress, cancel. */

test('a replay is planned, runs on after the gateway was killed, and replays each job once', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 400, { state: 'failed' })
  await seedJobs(db, 30, { state: 'failed', subscriber: 'other' })
  await seedJobs(db, 50, { state: 'processed' })
  // An event without a body cannot be processed.
  await db.rows(`update hookonce.receipt set body = null where id in (
    select receipt_id from hookonce.job where state = 'failed' and subscriber = (
      select id from hookonce.subscriber where name = 'app') limit 7)`)
  const first = await adminApi({ db })
  const wanted = { source: 'test', subscriber: 'app', perSecond: 60 }
  const plan = await first.post('/replays/plan', wanted)
  expect(plan.json).toMatchObject({
    jobs: 400,
    isComplete: true,
    effects: { count: 0, ofJobs: 200 },
    estimatedSeconds: 7,
    unattended: [{ source: 'test', subscriber: 'app' }],
  })
  expect(plan.json.sample).toHaveLength(10)
  const headers = { 'idempotency-key': 'incident-7' }
  const body = { ...wanted, name: 'incident 7', why: 'the fix is deployed' }
  const started = await first.post('/replays', body, { headers })
  expect(started).toMatchObject({ status: 201, json: { state: 'running', expected: 400, replayed: 0 } })
  expect((await first.post('/replays', body, { headers })).json.id).toBe(started.json.id)
  const { id } = started.json
  const progress = async (): Promise<number> => db.number('select replayed from hookonce.bulk_replay')
  await until('the first batch is committed', async () => (await progress()) > 0)
  first.gateway.child.kill('SIGKILL')
  // The counted jobs are the replayed jobs, even if the process died in between. Both are read in
  // one statement, because the server may still commit statements of the dead process.
  const [atKill] = await db.rows<{ counted: number; received: number }>(
    `select replayed::integer as counted,
       (select count(*)::integer from hookonce.job where state = 'received') as received
     from hookonce.bulk_replay`,
  )
  expect(atKill?.counted).toBeLessThan(393)
  expect(atKill?.received).toBe(atKill?.counted)

  const second = await adminApi({ db })
  await until('it is done', async () => (await second.get(`/replays/${id}`)).json.state === 'done')
  expect((await second.get(`/replays/${id}`)).json).toMatchObject({
    seen: 400,
    replayed: 393,
    endedAt: expect.any(String),
  })
  expect(
    await db.rows(`select s.name, j.state, count(*)::int from hookonce.job j
     join hookonce.subscriber s on s.id = j.subscriber group by 1, 2 order by 1, 2`),
  ).toEqual(
    [
      { name: 'app', state: 'received', count: 393 },
      { name: 'app', state: 'processed', count: 50 },
      { name: 'app', state: 'failed', count: 7 },
      { name: 'other', state: 'failed', count: 30 },
    ].sort((a, b) => a.name.localeCompare(b.name) || STATES.indexOf(a.state) - STATES.indexOf(b.state)),
  )
  expect((await second.get('/replays')).json.data).toMatchObject([{ id, name: 'incident 7' }])
  expect((await second.get('/audit')).json.data).toMatchObject([
    { action: 'start-replay', why: 'the fix is deployed', actor: 'env:HOOKONCE_ADMIN_TOKEN' },
  ])
})

/** In the order of the database's enum. */
const STATES = ['received', 'processing', 'retrying', 'processed', 'failed', 'attention']

test('a replay by the fingerprint of an error takes only those failures, and is cancelled for good', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 60, { state: 'failed' })
  await db.rows(`update hookonce.job set reason = case when ascii(right(receipt_id::text, 1)) % 2 = 0
    then 'timeout after 30000 ms' else 'no such customer' end`)
  const { get, post, token } = await adminApi({ db })
  const groups = (await get('/failures')).json.data
  const { fingerprint, jobs } = groups.find((one: { error: string }) => one.error.startsWith('timeout'))
  const plan = (await post('/replays/plan', { error: fingerprint })).json
  expect(plan.jobs).toBe(jobs)
  const { json } = await post('/replays', { error: fingerprint, perSecond: 1, name: 'slow', why: 'x' })
  const bound = await token({ name: 'bound', role: 'operator', tenant: 'acme' })
  expectProblem(await get(`/replays/${json.id}`, { token: bound }), 404, 'REPLAY_UNKNOWN')
  expectProblem(
    await post(`/replays/${json.id}/cancel`, { why: 'x' }, { token: bound }),
    404,
    'REPLAY_UNKNOWN',
  )
  const cancelled = await post(`/replays/${json.id}/cancel`, { why: 'wrong one' })
  expect(cancelled.json).toMatchObject({ state: 'cancelled', endedAt: expect.any(String) })
  const { replayed } = cancelled.json
  const all = await post('/replays', { error: fingerprint, perSecond: 500, name: 'fast', why: 'x' })
  await until('it is done', async () => (await get(`/replays/${all.json.id}`)).json.state === 'done')
  expect(
    await db.rows(`select reason, count(*)::int from hookonce.job where state = 'failed' group by 1`),
  ).toEqual([{ reason: 'no such customer', count: 60 - jobs }])
  expect((await get(`/replays/${json.id}`)).json).toMatchObject({ state: 'cancelled', replayed })
  expect((await post(`/replays/${json.id}/cancel`, { why: 'again' })).json).toMatchObject({
    state: 'cancelled',
  })
})

test('invalid replays are refused, with advice', async () => {
  const { get, post } = await adminApi({ args: ['--receive-only'] })
  expectProblem(await get('/replays/nothing'), 404, 'REPLAY_UNKNOWN')
  expectProblem(await post('/replays/plan', { state: 'processed' }), 400, 'CONFIG_INVALID')
  expectProblem(await post('/replays/plan', { source: 'unknown' }), 400, 'CONFIG_INVALID')
  expectProblem(await post('/replays/plan', { perSecond: 1_000_000 }), 400, 'REQUEST_INVALID')
  expectProblem(await post('/replays', { why: 'x' }), 400, 'REQUEST_INVALID')
  for (let n = 0; n < 5; n += 1)
    expect((await post('/replays', { name: `r${n}`, why: 'x' })).status).toBe(201)
  expectProblem(await post('/replays', { name: 'one more', why: 'x' }), 409, 'REPLAY_LIMIT')
})

test('waiting jobs run now: planned first, by tenant, with an entry in the audit', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 12, { source: 'shop' })
  await seedJobs(db, 3, { source: 'other' })
  await db.rows(`update hookonce.job set state = 'retrying', attempt = 3, due_at = now() + interval '1 hour'`)
  await db.rows(`update hookonce.source set paused_at = now() where name = 'shop'`)
  const { post, token } = await adminApi({ db, args: ['--receive-only'] })
  const due = async () => db.number('select count(*) from hookonce.job where due_at <= now() and attempt = 3')

  const viewer = await token({ name: 'vera', role: 'viewer' })
  const plan = await post('/retries/plan', { source: 'shop' }, { token: viewer })
  expect(plan.json).toMatchObject({
    ...{ jobs: 12, isComplete: true, paused: [{ source: 'shop', subscriber: null }], circuits: [] },
    ...{ firstDueAt: expect.any(String), unattended: [{ source: 'shop', subscriber: 'app' }] },
  })
  expectProblem(await post('/retries', { why: 'x' }, { token: viewer }), 403, 'FORBIDDEN')
  const foreign = await token({ name: 'foreign', role: 'operator', tenant: 'acme' })
  const [event] = plan.json.sample
  expect((await post('/retries', { why: 'x' }, { token: foreign })).json.jobs).toBe(0)
  expectProblem(await post('/retries', { why: 'x', event }, { token: foreign }), 404, 'RECEIPT_UNKNOWN')
  expectProblem(await post('/retries', { why: 'x', source: 'shpo' }), 400, 'CONFIG_INVALID')
  expect(await due()).toBe(0)

  expect((await post('/retries', { event, why: 'one' })).json).toEqual({ jobs: 1, isComplete: true })
  expect(await due()).toBe(1)
  const headers = { 'idempotency-key': 'mended' }
  const all = { source: 'shop', why: 'the app is up' }
  expect((await post('/retries', all, { headers })).json).toEqual({ jobs: 11, isComplete: true })
  // The same key gets the first answer.
  expect((await post('/retries', all, { headers })).json.jobs).toBe(11)
  expect(await due()).toBe(12)
  expect(
    await db.rows(`select why, detail from hookonce.audit where action = 'retry-now' order by id`),
  ).toEqual([
    { why: 'one', detail: { jobs: 1 } },
    { why: 'the app is up', detail: { jobs: 11 } },
  ])
})
