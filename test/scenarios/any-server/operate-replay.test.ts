import { expect, test } from 'vitest'
import { HookonceError, Permanent } from '../../../src/index.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { planReplayFailed, planReplayOne, replayFailed, replayOne } from '../../../src/operate/replay.ts'
import { pruneReceipts } from '../../../src/upkeep/prune-receipts.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

function ledgerOf(db: TestDatabase): LedgerTables {
  return { pool: db.pool, shards: 16 }
}

function inState(db: TestDatabase, state: string, count = 1): Promise<unknown> {
  return until(`${count} jobs are ${state}`, async () => {
    return (await db.number('select count(*) from hookonce.job where state::text = $1', [state])) === count
  })
}

const JOBS = 'select state::text, attempt, crashes, fence, reason from hookonce.job'

test('a processed event runs again when it is replayed, and its first run stays in its history', async () => {
  const db = await freshDatabase()
  const runs: number[] = []
  const hooks = testHooks(db)
  hooks.on('test', '*', (_event, ctx) => void runs.push(ctx.attempt))
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed')

  expect(await hooks.replay(id)).toEqual({ receiptId: id, jobs: 1 })
  await until('it ran twice', () => runs.length === 2)
  await inState(db, 'processed')

  expect(runs).toEqual([1, 1])
  expect(await db.rows(JOBS)).toEqual([
    { state: 'processed', attempt: 1, crashes: 0, fence: 2, reason: null },
  ])
  expect(
    await db.rows('select number, fence, outcome, ended_at >= started_at as ordered from hookonce.attempt'),
  ).toEqual([{ number: 1, fence: 1, outcome: 'processed', ordered: true }])
})

test('a failed event runs again when it is replayed, with its counters at zero and its failures kept', async () => {
  const db = await freshDatabase()
  let broken = true
  const hooks = testHooks(db)
  hooks.on('test', '*', () => {
    if (broken) throw new Permanent('not yet')
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'failed')
  broken = false

  expect(await hooks.replay(id.slice(0, 8))).toEqual({ receiptId: id, jobs: 1 })
  await inState(db, 'processed')

  expect(await db.rows(JOBS)).toEqual([
    { state: 'processed', attempt: 1, crashes: 0, fence: 2, reason: null },
  ])
  expect(await db.rows('select fence, outcome, error from hookonce.attempt')).toEqual([
    { fence: 1, outcome: 'failed', error: 'permanent: Permanent: not yet' },
  ])
})

test('a replay of one subscriber does not change the others', async () => {
  const db = await freshDatabase()
  const runs: string[] = []
  const hooks = testHooks(db)
  hooks.on('test', '*', () => void runs.push('one'), { name: 'one' })
  hooks.on('test', '*', () => void runs.push('two'), { name: 'two' })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed', 2)

  expect(await hooks.replay(id, { subscriber: 'two' })).toMatchObject({ jobs: 1 })
  await until('it ran again', () => runs.length === 3)
  await inState(db, 'processed', 2)

  expect([...runs].sort()).toEqual(['one', 'two', 'two'])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(1)
})

test('an event in progress is not replayed', async () => {
  const db = await freshDatabase()
  let finish = (): void => undefined
  const hooks = testHooks(db)
  hooks.on('test', '*', () => new Promise<void>((resolve) => (finish = resolve)))
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })

  expect(await hooks.replay(id)).toEqual({ receiptId: id, jobs: 0 })
  expect(await db.rows(JOBS)).toMatchObject([{ state: 'processing', fence: 1 }])
  finish()
  await inState(db, 'processed')
})

test('an unknown id and an ambiguous id are refused, each with advice', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 40, { state: 'processed' })
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  const [common] = await db.rows<{ prefix: string }>(
    'select left(id::text, 1) as prefix from hookonce.receipt group by 1 having count(*) > 1 limit 1',
  )

  const unknown = /no receipt has an id that begins/
  await expect(hooks.replay('00000000-0000-0000-0000-000000000000')).rejects.toThrow(unknown)
  await expect(hooks.replay('not an id')).rejects.toThrow(unknown)
  await expect(hooks.replay('')).rejects.toThrow(unknown)
  await expect(hooks.replay(common?.prefix ?? '')).rejects.toThrow(/more than one receipt/)
  expect(await db.number(`select count(*) from hookonce.job where state = 'processed'`)).toBe(40)
})

test('a body past its retention cannot be replayed, whether it is swept yet or not', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { ageDays: 31, state: 'failed' })
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt where body is not null')
  const id = receipt?.id ?? ''

  const expired = (error: unknown) => error instanceof HookonceError && error.code === 'BODY_EXPIRED'
  await expect(hooks.replay(id)).rejects.toSatisfy(expired)
  await pruneReceipts(ledgerOf(db))
  expect(await db.number('select count(*) from hookonce.receipt where body is not null')).toBe(0)
  await expect(hooks.replay(id)).rejects.toSatisfy(expired)
  expect(await db.rows(JOBS)).toMatchObject([{ state: 'failed' }])
})

test('a subscriber that was registered after the receipt gets its job by a replay, if it subscribes to the type', async () => {
  const db = await freshDatabase()
  const before = testHooks(db)
  before.on('test', '*', () => undefined, { name: 'old' })
  await before.start()
  const id = await deliver(before, { id: 'evt_1', type: 'invoice.paid' })
  await inState(db, 'processed')
  await before.stop()

  const runs: string[] = []
  const after = testHooks(db)
  after.on('test', '*', () => void runs.push('old'), { name: 'old' })
  after.on('test', 'invoice.*', () => void runs.push('new'), { name: 'new' })
  after.on('test', 'customer.*', () => void runs.push('other'), { name: 'other' })
  await after.start()
  expect(await after.replay(id, { subscriber: 'new' })).toMatchObject({ jobs: 1 })
  expect(await after.replay(id, { subscriber: 'other' })).toMatchObject({ jobs: 0 })
  await inState(db, 'processed', 2)

  expect(runs).toEqual(['new'])
  expect(
    await db.rows(
      'select s.name from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber order by 1',
    ),
  ).toEqual([{ name: 'new' }, { name: 'old' }])
})

test('a replay for an unknown subscriber is refused, with the known names', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'one' })
  hooks.on('test', 'b', () => undefined, { name: 'two' })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed')

  const unknown = 'source "test" has no subscriber "three" (there are: one, two)'
  await expect(hooks.replay(id, { subscriber: 'three' })).rejects.toThrow(unknown)
  await expect(hooks.planFresh(id, { subscriber: 'three' })).rejects.toThrow(unknown)
  expect(await db.rows(JOBS)).toMatchObject([{ state: 'processed', fence: 1 }])
})

test('the plan of one receipt names exactly what its replay then replays', async () => {
  const db = await freshDatabase()
  const ledger = ledgerOf(db)
  await seedJobs(db, 1, { state: 'processed', subscriber: 'processed' })
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const states = ['received', 'processing', 'retrying', 'failed', 'attention']
  for (const state of states) {
    await db.rows(
      `with made as (insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', 'test', $1, '*') returning id)
       insert into hookonce.job (shard, receipt_id, subscriber, state)
       select r.shard, r.id, made.id, $1::hookonce.job_state from made, hookonce.receipt r`,
      [state],
    )
  }
  await db.rows(`insert into hookonce.subscriber (tenant, source, name, pattern)
    values ('default', 'test', 'late', '*'), ('default', 'test', 'other', 'invoice.*'), ('default', 'elsewhere', 'x', '*')`)

  const { jobs } = await planReplayOne(ledger, receipt?.id ?? '')
  expect(jobs.map(({ subscriber, state }) => [subscriber, state])).toEqual([
    ['processed', 'processed'],
    ...states.map((state) => [state, state]),
    ['late', null],
  ])
  const planned = jobs.filter(({ again }) => again).map(({ subscriber }) => subscriber)
  expect(await replayOne(ledger, receipt?.id ?? '')).toMatchObject({ jobs: planned.length })
  const received = await db.rows<{ name: string }>(
    `select s.name from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
     where j.state = 'received' order by s.id`,
  )
  expect(received.map(({ name }) => name).filter((name) => name !== 'received')).toEqual(planned)
})

test('a plan names exactly what the replay of failed jobs then replays', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5, { source: 'one', subscriber: 'a', state: 'failed' })
  await seedJobs(db, 4, { source: 'one', subscriber: 'b', state: 'failed' })
  await seedJobs(db, 3, { source: 'two', subscriber: 'a', state: 'failed' })
  await seedJobs(db, 2, { source: 'two', subscriber: 'a', state: 'processed' })
  await db.rows(`update hookonce.job j set finished_at = now() - interval '3 hours'
    where (receipt_id, subscriber) in (select receipt_id, subscriber from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
      where s.source = 'one' and s.name = 'b' limit 2)`)
  const ledger = ledgerOf(db)
  const cases = [
    { filter: { source: 'two', limit: 100 }, count: 3 },
    {
      filter: { source: 'one', subscriber: 'b', since: new Date(Date.now() - 3_600_000), limit: 100 },
      count: 2,
    },
    { filter: { subscriber: 'b', limit: 100 }, count: 2 },
    { filter: { source: 'none', limit: 100 }, count: 0 },
    { filter: { limit: 4 }, count: 4 },
    { filter: { limit: 100 }, count: 1 },
  ]
  for (const { filter, count } of cases) {
    const plan = await planReplayFailed(ledger, filter)
    expect(await replayFailed(ledger, plan), JSON.stringify(filter)).toBe(count)
    const replayed = await db.rows<{ id: string }>(
      `select receipt_id || '/' || subscriber as id from hookonce.job where state = 'received' order by 1`,
    )
    expect(plan.jobs.map((job) => `${job.receiptId}/${job.subscriber}`).sort()).toEqual(
      replayed.map(({ id }) => id),
    )
    await db.rows(`update hookonce.job set state = 'processed', finished_at = now() where state = 'received'`)
  }
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(0)
})

test('failed jobs whose bodies are deleted or expired do not block those that can be replayed', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 3, { ageDays: 60, shard: 0, state: 'failed' })
  await db.rows(`update hookonce.job set finished_at = now() - interval '60 days'`)
  await pruneReceipts(ledgerOf(db))
  await seedJobs(db, 3, { ageDays: 31, shard: 0, state: 'failed' })
  await db.rows(`update hookonce.job set finished_at = least(finished_at, now() - interval '31 days')`)
  await seedJobs(db, 2, { shard: 0, state: 'failed' })

  const ledger = ledgerOf(db)
  expect(await replayFailed(ledger, await planReplayFailed(ledger, { limit: 2 }))).toBe(2)
  expect(await replayFailed(ledger, await planReplayFailed(ledger, { limit: 2 }))).toBe(0)
  expect(
    await db.number(`select count(*) from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
    where j.state = 'received' and r.received_at > now() - interval '1 day'`),
  ).toBe(2)
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(6)
})

test('a job that was processed between the plan and the replay is not run again', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 2, { shard: 0, state: 'failed' })
  let mended = false
  // Another operator is quicker: the planned jobs have been replayed and processed by then.
  const racing = {
    query: async (query: { name?: string; text: string; values: unknown[] }) => {
      // The first statement of either shape of a replay.
      if (/^hookonce_replay(_hold)?$/.test(query.name ?? '') && !mended) {
        mended = true
        await db.rows(`update hookonce.job set state = 'processed'`)
      }
      return db.pool.query(query)
    },
  }
  const ledger = { ...ledgerOf(db), pool: racing as unknown as LedgerTables['pool'] }

  expect(await replayFailed(ledger, await planReplayFailed(ledger, { limit: 10 }))).toBe(0)
  expect(await db.number(`select count(*) from hookonce.job where state = 'processed'`)).toBe(2)
})
