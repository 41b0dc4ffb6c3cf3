import { describe, expect, test } from 'vitest'
import type { Queryable } from '../../../src/ledger/driver/statement.ts'
import { recordStep } from '../../../src/ledger/effects/steps.ts'
import { abandonJob, letGo } from '../../../src/ledger/jobs/attention.ts'
import { completeWithStep, completeWritten } from '../../../src/ledger/jobs/complete.ts'
import { requireLive, STALE_FENCE } from '../../../src/ledger/jobs/fence.ts'
import { joinOrderKey } from '../../../src/ledger/jobs/order.ts'
import { type Settlement, settleJobs, stopForAttention } from '../../../src/ledger/jobs/settle.ts'
import { idOf, LEASED, type SeededJob, seededLedger } from '../../support/seeded-ledger.ts'

/*
 * Every statement that ends a run, or writes for it, changes nothing unless the run still has its
 * lease: its fence equals the job's, the job is processing, and no transaction changes the job at
 * the same time.
 */

const EFFECT = { shard: 0, id: idOf(900), tenant: 'default', key: 'mail' }

type EndRun = (db: Queryable, job: SeededJob) => Promise<boolean>

const settledAs =
  (state: Settlement['state'], reason?: string, steps = 0): EndRun =>
  async (db, job) => {
    const settlement = { ...job, state, delayMs: 0, returnAttempt: false, reason, steps }
    return (await settleJobs(db, [settlement]))[0] ?? false
  }

/** These statements fail with a division by zero, so that the COMMIT behind them rolls back. */
const unlessStale = (run: (db: Queryable, job: SeededJob) => Promise<unknown>): EndRun => {
  return async (db, job) => {
    try {
      await run(db, job)
      return true
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === STALE_FENCE) return false
      throw error
    }
  }
}

const written =
  (steps: number): EndRun =>
  async (db, job) =>
    (await completeWritten(db, [{ job, step: '(write)', steps }]))[0] ?? false

const withLastStep = (steps: number, result: string | null = null): EndRun =>
  unlessStale((db, job) => completeWithStep(db, { job, epoch: 1, name: 'last', result, steps, reason: null }))

const endings: [name: string, ending: EndRun, after: string][] = [
  ['complete', settledAs('processed'), 'processed'],
  ['settle', settledAs('retrying', 'it failed'), 'retrying'],
  ['complete_written', written(0), 'processed'],
  ['complete_with_step', withLastStep(0), 'processed'],
  ['complete_with_result', withLastStep(0, '1'), 'processed'],
  [
    'record_step',
    unlessStale((db, job) => recordStep(db, { job, epoch: 0, name: 'a', result: '1' })),
    'processing',
  ],
  ['require_live', unlessStale(requireLive), 'processing'],
  [
    'stop_for_attention',
    (db, job) => stopForAttention(db, { job, effect: EFFECT, reason: 'unknown' }),
    'attention',
  ],
  ['join_order_key', (db, job) => joinOrderKey(db, job, { orderKey: idOf(800), shards: 16 }), 'received'],
]

describe.each(endings)('%s', (name, ending, after) => {
  test('takes effect under the live fence', async () => {
    const { db, job, jobIs } = await seededLedger()
    const run = await job(1, LEASED)
    expect(await ending(db.pool, run)).toBe(true)
    expect(await jobIs(1, 'state')).toEqual({ state: after })
  })

  test('changes nothing under an older fence', async () => {
    const { db, job, jobIs } = await seededLedger()
    const run = await job(1, LEASED)
    expect(await ending(db.pool, { ...run, fence: 2 })).toBe(false)
    expect(await jobIs(1, 'state', 'fence', 'worker')).toEqual({
      state: 'processing',
      fence: '3',
      worker: '7',
    })
    expect(await db.number('select count(*) from hookonce.step')).toBe(0)
    expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
  })

  test('changes nothing of a job that is no longer processing', async () => {
    const { db, job, jobIs } = await seededLedger()
    const run = await job(1, { ...LEASED, state: 'retrying', worker: null, reason: 'its worker died' })
    expect(await ending(db.pool, run)).toBe(false)
    expect(await jobIs(1, 'state', 'reason')).toEqual({ state: 'retrying', reason: 'its worker died' })
    expect(await db.number('select count(*) from hookonce.step')).toBe(0)
    expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
  })

  test('changes nothing of a job that is rescued at that moment', async () => {
    const { db, job, jobIs, locked } = await seededLedger()
    const run = await job(1, LEASED)
    const rescue = await locked('job', `receipt_id = '${run.receiptId}'`)
    await rescue.change(`state = 'retrying', fence = fence + 1, worker = null, reason = 'its worker died'`)
    const ended = ending(db.pool, run)
    await rescue.awaited()
    await rescue.commit()
    expect(await ended).toBe(false)
    expect(await jobIs(1, 'state', 'fence', 'reason')).toEqual({
      state: 'retrying',
      fence: '4',
      reason: 'its worker died',
    })
    expect(await db.number('select count(*) from hookonce.step')).toBe(0)
    expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
  })

  test('locks the job until its transaction ends', async () => {
    const { job, inOpenTransaction, isLocked } = await seededLedger()
    const run = await job(1, LEASED)
    await inOpenTransaction((client) => ending(client, run))
    expect(await isLocked('job', `receipt_id = '${run.receiptId}'`), name).toBe(true)
  })
})

/*
 * A failover has lost one of two steps. A step of an earlier epoch, or of another job, does not
 * replace it.
 */
describe.each([
  ['complete_with_steps', settledAs('processed', undefined, 2)],
  ['complete_with_steps, with a reason', settledAs('processed', 'the event was stale', 2)],
  ['complete_written', written(2)],
  ['complete_with_step', withLastStep(2)],
  ['complete_with_result', withLastStep(2, '1')],
])('%s', (_, ending) => {
  const STEP = `insert into hookonce.step (shard, receipt_id, subscriber, fence, name, epoch)
    values ($1, $2, $3, 1, $4, $5)`

  test('does not complete a job that has lost a step of its run', async () => {
    const { db, job, jobIs } = await seededLedger()
    const run = await job(1, { ...LEASED, epoch: 1 })
    const other = await job(2, { ...LEASED, epoch: 1 })
    const step = (of: SeededJob, name: string, epoch: number) =>
      db.pool.query(STEP, [of.shard, of.receiptId, of.subscriber, name, epoch])
    await step(run, 'one', 1)
    await step(run, 'two', 0)
    await step(other, 'two', 1)
    expect(await ending(db.pool, run)).toBe(false)
    expect(await jobIs(1, 'state', 'fence')).toEqual({ state: 'processing', fence: '3' })

    await step(run, 'two', 1)
    expect(await ending(db.pool, run)).toBe(true)
    expect(await jobIs(1, 'state')).toEqual({ state: 'processed' })
  })
})

test('jobs with and without steps are settled together', async () => {
  const { db, job, jobIs } = await seededLedger()
  const [plain, lost, failed] = [await job(1, LEASED), await job(2, LEASED), await job(3, LEASED)]
  const end = (of: SeededJob, state: Settlement['state'], steps: number): Settlement => {
    return { ...of, state, delayMs: 0, returnAttempt: false, reason: undefined, steps }
  }
  const batch = [end(lost, 'processed', 1), end(failed, 'failed', 1), end(plain, 'processed', 0)]
  expect(await settleJobs(db.pool, batch)).toEqual([false, true, true])
  expect(await jobIs(1, 'state')).toEqual({ state: 'processed' })
  expect(await jobIs(2, 'state')).toEqual({ state: 'processing' })
  expect(await jobIs(3, 'state')).toEqual({ state: 'failed' })
})

test('only an ended run has an end time', async () => {
  const { db, job, jobIs } = await seededLedger()
  await settledAs('retrying', 'it failed')(db.pool, await job(1, LEASED))
  await settledAs('failed', 'it failed')(db.pool, await job(2, LEASED))
  expect(await jobIs(1, 'finished_at')).toEqual({ finished_at: null })
  expect(await jobIs(2, 'finished_at')).not.toEqual({ finished_at: null })
})

test('releasing and abandoning move only jobs in attention', async () => {
  const { db, job, jobIs } = await seededLedger()
  const waiting = await job(1, { state: 'attention', attempt: 4 })
  const retried = await job(2, { state: 'retrying', attempt: 4 })
  const stopped = await job(3, { state: 'attention', attempt: 4 })
  expect(await letGo(db.pool, waiting)).toBe(1)
  expect(await letGo(db.pool, retried)).toBe(0)
  expect(await abandonJob(db.pool, stopped, 'given up')).toBe(1)
  expect(await abandonJob(db.pool, retried, 'given up')).toBe(0)
  expect(await jobIs(1, 'state', 'attempt')).toEqual({ state: 'received', attempt: '0' })
  expect(await jobIs(2, 'state', 'attempt')).toEqual({ state: 'retrying', attempt: '4' })
  expect(await jobIs(3, 'state', 'reason')).toEqual({ state: 'failed', reason: 'given up' })
})
