import { expect, test } from 'vitest'
import { Permanent } from '../../../src/index.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { joinOrderKey, releaseNextJobs } from '../../../src/ledger/jobs/order.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'
import type { TestPayload } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * Ordered processing: one at a time per key, in the order of the receipts, whatever happens to an
 * event.
 */

/** `evt_<key>_<number>`: the key is the order key. */
const keyOf = (id: string): string => id.split('_')[1] ?? ''
const ordered = (event: { key: string }): string => keyOf(event.key)
const events = (key: string, count: number): TestPayload[] =>
  Array.from({ length: count }, (_, n) => ({ id: `evt_${key}_${n}`, type: 'a' }))

async function finished(db: TestDatabase, count: number): Promise<void> {
  await until('all jobs are done', async () => {
    return (
      (await db.number(`select count(*) from hookonce.job where state in ('processed', 'failed')`)) === count
    )
  })
}

test('events of one key run one at a time in order, those of other keys in parallel', async () => {
  const db = await freshDatabase()
  const running = new Set<string>()
  const handled: string[] = []
  let began: () => void = () => undefined
  const otherBegan = new Promise<void>((resolve) => {
    began = resolve
  })
  const hooks = testHooks(db, { concurrency: 16 }).on(
    'test',
    '*',
    async (event) => {
      const key = ordered(event)
      expect(running.has(key)).toBe(false)
      running.add(key)
      // Another key must be able to run meanwhile. Otherwise this waits in vain.
      if (event.key === 'evt_b_0') began()
      if (event.key === 'evt_a_0') await otherBegan
      await new Promise((resolve) => setImmediate(resolve))
      handled.push(event.key)
      running.delete(key)
    },
    { ordered },
  )
  await hooks.start()
  const keys = ['a', 'b', 'c', 'd']
  // In turn per key, in parallel for different keys: batches mix them.
  await Promise.all(
    keys.map(async (key) => {
      for (const event of events(key, 15)) await deliver(hooks, event)
    }),
  )
  await finished(db, 60)
  for (const key of keys) {
    expect(handled.filter((id) => keyOf(id) === key)).toEqual(events(key, 15).map(({ id }) => id))
  }
  await until(
    'order keys without jobs are gone',
    async () => (await db.number('select count(*) from hookonce.lane')) === 0,
  )
})

test('a batch of one key is numbered in the order of arrival', async () => {
  const db = await freshDatabase()
  const handled: string[] = []
  const hooks = testHooks(db).on('test', '*', (event) => void handled.push(event.key), { ordered })
  await Promise.all(events('a', 40).map((event) => deliver(hooks, event)))
  const rows = await db.rows<{ event_key: string }>(
    `select event_key from hookonce.job j join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id order by lane_seq`,
  )
  await hooks.start()
  await finished(db, 40)
  expect(handled).toEqual(rows.map((row) => row.event_key))
  expect(new Set(handled).size).toBe(40)
})

test('a first job that fails blocks its own key only, and a job that failed for good releases the next', async () => {
  const db = await freshDatabase()
  const handled: string[] = []
  let failures = 0
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxDelayMs: 2, maxAttempts: 3 } }).on(
    'test',
    '*',
    (event) => {
      if (event.key === 'evt_a_0' && failures++ < 2) throw new Error('not yet')
      if (event.key === 'evt_b_0') throw new Permanent('never')
      handled.push(event.key)
    },
    { ordered },
  )
  for (const key of ['a', 'b', 'c']) for (const event of events(key, 3)) await deliver(hooks, event)
  await hooks.start()
  await finished(db, 9)
  const of = (key: string) => handled.filter((id) => keyOf(id) === key)
  expect(of('a')).toEqual(['evt_a_0', 'evt_a_1', 'evt_a_2'])
  expect(of('b')).toEqual(['evt_b_1', 'evt_b_2'])
  expect(of('c')).toEqual(['evt_c_0', 'evt_c_1', 'evt_c_2'])
  expect(failures).toBe(3)
})

test('a duplicate takes no place, and a subscriber without an order is not blocked', async () => {
  const db = await freshDatabase()
  const handled: string[] = []
  const hooks = testHooks(db)
    .on('test', '*', () => undefined, { name: 'free' })
    .on('test', '*', (event) => void handled.push(event.key), { name: 'strict', ordered })
  const [first, second] = events('a', 2)
  if (!first || !second) throw new Error('two events')
  await deliver(hooks, first)
  await deliver(hooks, first)
  await deliver(hooks, second)
  expect(await db.number('select count(*) from hookonce.job where lane is not null')).toBe(2)
  expect(await db.number('select count(*) from hookonce.job where lane is null')).toBe(2)
  await hooks.start()
  await finished(db, 4)
  expect(handled).toEqual(['evt_a_0', 'evt_a_1'])
})

test('a key function that throws costs neither the delivery nor the order', async () => {
  const db = await freshDatabase()
  const handled: string[] = []
  const hooks = testHooks(db).on('test', '*', (event) => void handled.push(event.key), {
    ordered: () => {
      throw new Error('no key')
    },
  })
  for (const event of events('a', 3)) await deliver(hooks, event)
  await hooks.start()
  await finished(db, 3)
  expect(handled).toEqual(['evt_a_0', 'evt_a_1', 'evt_a_2'])
})

test('if a process dies before it releases the next job, upkeep releases it', async () => {
  const db = await freshDatabase()
  const receiver = testHooks(db).on('test', '*', () => undefined, { name: 'app', ordered })
  for (const event of events('a', 3)) await deliver(receiver, event)
  await receiver.stop()
  // As if the process had died between the end of a run and the release of the next job.
  await db.pool.query(
    `update hookonce.job set state = 'processed', finished_at = now() where due_at < 'infinity'`,
  )
  const handled: string[] = []
  const worker = testHooks(db, { leaseMs: 600 }).on('test', '*', (event) => void handled.push(event.key), {
    name: 'app',
    ordered,
  })
  await worker.start()
  await finished(db, 3)
  expect(handled).toEqual(['evt_a_1', 'evt_a_2'])
})

test('a replay takes its turn, and does not run in parallel to another job of its key', async () => {
  const db = await freshDatabase()
  const handled: string[] = []
  const hooks = testHooks(db, { leaseMs: 600 }).on('test', '*', (event) => void handled.push(event.key), {
    ordered,
  })
  await hooks.start()
  const [first] = await Promise.all(events('a', 1).map((event) => deliver(hooks, event)))
  await finished(db, 1)
  await hooks.replay(first ?? '')
  await finished(db, 1)
  await until('it ran again', () => handled.length === 2)
})

test('replayed into an ordered subscriber that came later, events of one key run one at a time', async () => {
  const db = await freshDatabase()
  const receiver = testHooks(db).on('test', '*', () => undefined, { name: 'first' })
  const ids: string[] = []
  for (const key of ['a', 'b']) for (const event of events(key, 6)) ids.push(await deliver(receiver, event))
  await receiver.stop()
  const running = new Set<string>()
  const together: string[] = []
  const handled: string[] = []
  const hooks = testHooks(db, { leaseMs: 600 })
    .on('test', '*', () => undefined, { name: 'first' })
    .on(
      'test',
      '*',
      async (event) => {
        const key = ordered(event)
        if (running.has(key)) together.push(event.key)
        running.add(key)
        await new Promise((resolve) => setTimeout(resolve, 20))
        running.delete(key)
        handled.push(event.key)
      },
      { name: 'later', ordered },
    )
  await Promise.all(ids.map((id) => hooks.replay(id)))
  await hooks.start()
  await finished(db, 24)

  expect(together).toEqual([])
  expect(handled).toHaveLength(12)
  expect(
    await db.rows(
      `select count(distinct lane)::int as keys, count(lane)::int as jobs, max(attempt) as attempts from hookonce.job
       where subscriber = (select id from hookonce.subscriber where name = 'later')`,
    ),
  ).toEqual([{ keys: 2, jobs: 12, attempts: 1 }])
})

test('jobs that get their order key late wait in the order of their receipts', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 4, { shard: 0 })
  const worker = await seedWorker(db)
  const jobs = await claimJobs(db.pool, { shard: 0, worker, slots: new Map([[subscriber, 4]]) })
  const orderKey = '00000000-0000-4000-8000-000000000001'
  for (const job of jobs.toReversed())
    expect(await joinOrderKey(db.pool, job, { orderKey, shards: 16 })).toBe(true)
  // No process is running one of them any more.
  for (const job of jobs) expect(await joinOrderKey(db.pool, job, { orderKey, shards: 16 })).toBe(false)
  const order = await db.rows(
    `select r.id from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
     where j.state = 'received' and j.due_at = 'infinity' and j.attempt = 0 order by j.lane_seq`,
  )
  expect(order).toEqual(await db.rows('select id from hookonce.receipt order by received_at'))
  expect(
    await db.number(`select seq - (select max(lane_seq) from hookonce.job) from hookonce.lane`),
  ).toBeGreaterThanOrEqual(0)
})

test('an order key to which a job is being added is not released before that is committed', async () => {
  const db = await freshDatabase()
  const open = () => testHooks(db).on('test', '*', () => undefined, { ordered })
  const receiver = open()
  for (const event of events('a', 2)) await deliver(receiver, event)
  await until('the first is let go', () =>
    db.number(`select count(*) from hookonce.job where due_at < 'infinity'`),
  )
  // The receiver also releases jobs, and could delete the key before the replay takes it.
  await receiver.stop()
  const ledger = await open().ledger('test')
  const [{ lane } = { lane: '' }] = await db.rows<{ lane: string }>('select lane from hookonce.job limit 1')
  await db.rows(`update hookonce.job set state = 'processed', finished_at = now()`)
  // A replay of the second event is in progress, so its order key is taken.
  const client = await db.pool.connect()
  await client.query('begin')
  await client.query('update hookonce.lane set added = 0')
  await client.query(
    `update hookonce.job set state = 'received', due_at = 'infinity', finished_at = null
     where lane_seq = (select max(lane_seq) from hookonce.job)`,
  )
  const passing = releaseNextJobs(ledger, [lane])
  await until('a release waits for the order key', () =>
    db.number(
      `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    ),
  )
  await client.query('commit')
  client.release()

  expect(await passing).toBe(1)
  expect(
    await db.number(`select count(*) from hookonce.job where state = 'received' and due_at <= now()`),
  ).toBe(1)
  expect(await db.number('select count(*) from hookonce.lane')).toBe(1)
})

test('many jobs behind one key do not slow other keys: a claim reads one entry per key', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', () => undefined, { ordered })
  for (const event of events('hot', 2)) await deliver(hooks, event)
  await db.pool.query(
    `with made as (select gen_random_uuid() as id, n from generate_series(1, 100000) n), receipt as (
       insert into hookonce.receipt (shard, id, secret, tenant, source, event_key, event_type, headers, body)
       select get_byte(uuid_send(id), 0) % 16, id, 1, 'default', 'test', 'hot_' || n, 'a', '', '{}' from made)
     insert into hookonce.job (shard, receipt_id, subscriber, state, due_at, lane, lane_seq)
     select get_byte(uuid_send(m.id), 0) % 16, m.id, j.subscriber, 'received', 'infinity', j.lane, j.lane_seq + 10 + n
     from made m cross join (select subscriber, lane, lane_seq from hookonce.job order by lane_seq desc limit 1) j`,
  )
  await db.pool.query('analyze hookonce.job')
  const [{ lane } = { lane: '' }] = await db.rows<{ lane: string }>(
    'select lane from hookonce.job where lane is not null limit 1',
  )
  const reads = async (): Promise<number> =>
    db.number(
      `select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes where indexrelname like 'job_lane%'`,
    )
  await db.pool.query('select pg_stat_force_next_flush()').catch(() => undefined)
  const before = await reads()
  const ledger = await hooks.ledger('test')
  for (let n = 0; n < 20; n += 1) await releaseNextJobs(ledger, [lane])
  await until('the statistics are told', async () => (await reads()) > before)
  expect((await reads()) - before).toBeLessThan(1_000)
})

test('killed workers and a second process: the order of each key is kept, and nothing is left behind', async () => {
  const db = await freshDatabase()
  const options = { options: { leaseMs: 1_000, pollMs: 50 }, ordered: true }
  const first = await startApp(db, options)
  const keys = ['a', 'b', 'c']
  await Promise.all(
    keys.map(async (key) => {
      for (const { id } of events(key, 10)) await first.send({ id, type: 'slow.a', ms: 30 })
    }),
  )
  const second = await startApp(db, options)
  first.kill('SIGKILL')
  await finished(db, 30)
  for (const key of keys) {
    const done = await db.rows<{ event_key: string }>(
      `select r.event_key from hookonce.job j join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id
       where r.event_key like 'evt_${key}_%' order by j.finished_at, j.lane_seq`,
    )
    expect(done.map((row) => row.event_key)).toEqual(events(key, 10).map(({ id }) => id))
  }
  second.kill('SIGTERM')
  await second.exited()
})
