import { expect, test } from 'vitest'
import { recordOutcome } from '../../../src/effects/end-effect.ts'
import { type EffectOptions, NotDone } from '../../../src/index.ts'
import { endEffect, handOnEffects, lockEffect, takeOverEffect } from '../../../src/ledger/effects/effects.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

/* Outcomes of calls that end after their run. */

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

const by = { by: 'ann', why: 'asked the bank' }
const EFFECTS = 'select epoch, state::text, result from hookonce.effect order by epoch'

/** A handler whose calls end when the test ends them, after its runs were cut off. */
async function hanging(options: EffectOptions, timeoutMs = 60_000) {
  const db = await freshDatabase()
  const calls: PendingCall[] = []
  const results: unknown[] = []
  const faults: string[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxDelayMs: 1, maxAttempts: 9 } }).on(
    'test',
    '*',
    async (_, ctx) => {
      const call = () => new Promise<unknown>((resolve, reject) => calls.push({ resolve, reject }))
      const answer = ctx.effect('charge', call, options)
      answer.catch((error) => faults.push(error.code))
      results.push(await answer)
    },
    { timeoutMs },
  )
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  async function called(count: number): Promise<PendingCall> {
    await until(`${count} calls are made`, () => calls.length >= count)
    const call = calls[count - 1]
    if (!call) throw new Error(`call ${count} is missing`)
    return call
  }
  /** Like the rescue of jobs from a worker that was frozen for too long. */
  const cutOff = () =>
    db.rows(
      `update hookonce.job set state = 'retrying', fence = fence + 1, worker = null where state = 'processing'`,
    )
  return { db, hooks, id, called, cutOff, results, faults }
}

test('a call that outlives its timeout and succeeds is recorded, and the waiting job continues', async () => {
  const { db, hooks, called, results } = await hanging({ mode: 'atMostOnce' }, 500)
  const call = await called(1)
  await jobsAre(db, 'attention')
  await deliver(hooks, { id: 'evt_2', type: 'a' })
  await jobsAre(db, 'attention', 2)
  call.resolve({ id: 'ch_1' })
  await jobsAre(db, 'processed', 2)
  expect((await db.rows(EFFECTS)).at(-1)).toMatchObject({ state: 'done', result: { id: 'ch_1' } })
  expect(results).toEqual([{ id: 'ch_1' }, { id: 'ch_1' }, { id: 'ch_1' }])
  expect(await hooks.attention.list()).toEqual([])
})

test('a call that outlives its lease and succeeds is recorded', async () => {
  const { db, called, cutOff } = await hanging({ mode: 'atMostOnce' })
  const call = await called(1)
  await cutOff()
  await jobsAre(db, 'attention')
  call.resolve('late')
  await jobsAre(db, 'processed')
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'done', result: 'late' }])
})

test('a late refusal is recorded too, and leads to a new epoch', async () => {
  const { db, called, cutOff } = await hanging({ mode: 'atMostOnce' })
  const call = await called(1)
  await cutOff()
  await jobsAre(db, 'attention')
  call.reject(new NotDone('declined'))
  const next = await called(2)
  next.resolve('second')
  await jobsAre(db, 'processed')
  expect(await db.rows(EFFECTS)).toEqual([
    { epoch: 0, state: 'failed', result: null },
    { epoch: 1, state: 'done', result: 'second' },
  ])
})

test('a late success is recorded although a successor queried the service, which did not know the outcome', async () => {
  const { db, called, cutOff } = await hanging({ reconcile: () => ({ outcome: 'unknown' }) })
  const call = await called(1)
  await cutOff()
  await jobsAre(db, 'attention')
  call.resolve('late')
  await jobsAre(db, 'processed')
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'done', result: 'late' }])
})

test('an abandoned call that succeeds late is known: a replay gets its result', async () => {
  const { db, hooks, id, called, cutOff, results } = await hanging({ mode: 'atMostOnce' })
  const call = await called(1)
  await cutOff()
  await jobsAre(db, 'attention')
  await hooks.attention.abandon('charge', by)
  call.resolve('late')
  await until('it is known', () => db.number(`select count(*) from hookonce.effect where state = 'done'`))
  await jobsAre(db, 'failed')
  await hooks.replay(id)
  await jobsAre(db, 'processed')
  expect(results).toEqual(['late', 'late'])
})

test('a decision of a person is final, whatever the call returns later', async () => {
  const { db, hooks, called, cutOff } = await hanging({ mode: 'atMostOnce' })
  const first = await called(1)
  await cutOff()
  await jobsAre(db, 'attention')
  await hooks.attention.confirmNotDone('charge', by)
  const second = await called(2)
  first.resolve('first')
  second.resolve('second')
  await jobsAre(db, 'processed')
  expect(await db.rows(EFFECTS)).toEqual([
    { epoch: 0, state: 'failed', result: null },
    { epoch: 1, state: 'done', result: 'second' },
  ])
})

test('while a successor calls, only the successor records the outcome', async () => {
  const { db, called, cutOff, results, faults } = await hanging({ mode: 'keyed' })
  const first = await called(1)
  await cutOff()
  const second = await called(2)
  await cutOff()
  const third = await called(3)
  first.reject(new NotDone('the first says no'))
  second.resolve('second')
  await until('both were refused', () => faults.length === 2)
  expect(faults).toEqual(['LEASE_LOST', 'LEASE_LOST'])
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'started', result: null }])
  third.resolve('third')
  await jobsAre(db, 'processed')
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'done', result: 'third' }])
  expect(results.at(-1)).toBe('third')
})

/** An effect that a run of fence 1 has started. */
async function started(db: TestDatabase) {
  const effect = {
    shard: 0,
    id: '00000000-0000-4000-8000-000000000001',
    tenant: 'default',
    key: 'charge',
  }
  const job = { shard: 0, receiptId: '00000000-0000-4000-8000-00000000000a', subscriber: 1, fence: 1 }
  await db.rows(
    `insert into hookonce.effect (shard, id, tenant, key, receipt_id, subscriber, fence, epoch, mode, downstream_key, state)
     values (0, $1, 'default', 'charge', $2, 1, 1, 0, 'keyed', 'k', 'started')`,
    [effect.id, job.receiptId],
  )
  return { effect, job }
}

test.each(['done', 'failed'] as const)(
  'the ledger refuses "%s" of a run whose effect was taken over',
  async (state) => {
    const db = await freshDatabase()
    const { effect, job } = await started(db)
    await takeOverEffect(db.pool, { effect, job: { ...job, fence: 2 }, epoch: 0, mode: 'keyed' })
    const ended = { effect, job, epoch: 0, state, result: '"old"', reason: null }
    expect(await endEffect(db.pool, ended)).toBe(false)
    expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'started', result: null }])
    expect(await endEffect(db.pool, { ...ended, job: { ...job, fence: 2 } })).toBe(true)
    expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state, result: 'old' }])
  },
)

test('a late success is recorded after its job was moved; any other late outcome is refused', async () => {
  const db = await freshDatabase()
  const { effect, job } = await started(db)
  const moved = { receiptIds: [job.receiptId], subscriber: 1, to: 2 }
  await handOnEffects(db.pool, 16, moved)
  const ended = { effect, job, epoch: 0, result: '"late"', reason: null }
  const refused = { code: 'LEASE_LOST' }
  await expect(recordOutcome(db.pool, { ...ended, state: 'failed' })).rejects.toMatchObject(refused)
  const other = { ...job, receiptId: '00000000-0000-4000-8000-00000000000b' }
  await expect(recordOutcome(db.pool, { ...ended, job: other, state: 'done' })).rejects.toMatchObject(refused)
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'started', result: null }])
  await recordOutcome(db.pool, { ...ended, state: 'done' })
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'done', result: 'late' }])
})

test('a late success of a moved job is refused if a run of the new subscriber has called since', async () => {
  const db = await freshDatabase()
  const { effect, job } = await started(db)
  await handOnEffects(db.pool, 16, { receiptIds: [job.receiptId], subscriber: 1, to: 2 })
  const next = { ...job, subscriber: 2, fence: 2 }
  await takeOverEffect(db.pool, { effect, job: next, epoch: 0, mode: 'keyed' })
  const ended = { effect, job, epoch: 0, state: 'done', result: '"late"', reason: null } as const
  await expect(recordOutcome(db.pool, ended)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  expect(await db.rows(EFFECTS)).toEqual([{ epoch: 0, state: 'started', result: null }])
})

test('a request for an effect waits until the previous one has decided, and sees its decision', async () => {
  const db = await freshDatabase()
  const { effect, job } = await started(db)
  const [first, second] = [await db.pool.connect(), await db.pool.connect()]
  try {
    await first.query('begin')
    expect(await lockEffect(first, effect)).toMatchObject({ fence: 1 })
    await second.query('begin')
    let seen: unknown
    const looking = lockEffect(second, effect).then((row) => {
      seen = row
    })
    await until('the second waits', () =>
      db.number(
        `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      ),
    )
    expect(seen).toBeUndefined()
    await takeOverEffect(first, { effect, job: { ...job, fence: 7 }, epoch: 0, mode: 'keyed' })
    await first.query('commit')
    await looking
    expect(seen).toMatchObject({ fence: 7, state: 'started' })
    await second.query('commit')
  } finally {
    first.release()
    second.release()
  }
})
