import { NOTHING_HANDED_OVER } from '../../effects/hand-over.ts'
import type { Settlement } from '../../ledger/jobs/settle.ts'
import type { Observer } from '../../observe/observer.ts'
import { persistently } from '../../work/persistently.ts'
import type { Outcome } from '../outcome.ts'
import type { Run } from '../run.ts'
import type { CommitOutcome } from './commit-writes.ts'
import { stopAtOpenCall } from './open-calls.ts'
import { type EndedRun, handedBack, settlementOf } from './settlement.ts'
import type { RunCommit } from './settler.ts'

/*
 * How a run ends. A run ends in one commit, in one of the ways below. Each commit carries the fence
 * of the run: a run that has lost its lease changes nothing, whatever it tries.
 *
 * | what happened                               | who commits it           | statement          |
 * |---------------------------------------------|--------------------------|--------------------|
 * | the handler returned                        | settler.ts               | complete, or       |
 * |                                             |                          | complete_with_steps|
 * | the handler failed, deferred or was drained | settler.ts               | settle             |
 * | it returned with ctx.write or ctx.publish   | commit-writes.ts         | complete_written   |
 * | it committed a last transaction             | effects/transaction.ts   | complete_with_step,|
 * |                                             |                          | or with_result     |
 * | it met an effect whose outcome is unknown   | effects/claim-effect.ts  | stop_for_attention |
 * | it would fail, and a call of it is open     | open-calls.ts            | stop_for_attention |
 * | it had no order key yet, and must wait      | worker.ts                | join_order_key     |
 * | its process died                            | upkeep/rescue.ts         | rescue             |
 *
 * The handler's own commits (a last transaction, an unknown effect) come first: then the outcome
 * says `isSettled`, and nothing is left to do here. Every other end of a run that has begun is
 * decided in this file. The statements are in ledger/jobs/settle.ts and ledger/jobs/complete.ts,
 * except for the last two, in ledger/jobs/order.ts and ledger/jobs/rescue.ts.
 */

export interface SettledRun {
  readonly outcome: Outcome
  readonly settlement: Settlement
  readonly commit: CommitOutcome
}

export interface SettleDeps {
  /** Commits the end of a run, usually together with others. */
  readonly settle: (commit: RunCommit) => Promise<CommitOutcome>
  readonly observer: Observer
  /** Stops retrying: the ledger is down and the process is stopping. */
  readonly signal: AbortSignal
  /** Called when the run was settled. */
  readonly onSettled?: ((run: Run, settled: SettledRun) => void) | undefined
}

export async function settleRun(ended: EndedRun, deps: SettleDeps): Promise<SettledRun> {
  const settled = await settleOutcome(ended, deps)
  if (settled.commit.kind !== 'refused') return settled
  // The handler succeeded, but the database refused its writes. That is a failed attempt.
  const { error } = settled.commit
  const { event } = ended.outcome
  const outcome = { isSuccess: false, event, error, isSettled: false, hasEffects: true } as const
  return settleOutcome({ ...ended, outcome }, deps)
}

async function settleOutcome(ended: EndedRun, deps: SettleDeps): Promise<SettledRun> {
  const settlement = settlementOf(ended)
  const outcome = settlement.state === 'failed' ? await stopForAttention(ended, deps) : ended.outcome
  // The ledger did not answer. The lease expires, and the job is retried.
  if (!outcome) return { outcome: ended.outcome, settlement, commit: { kind: 'lost' } }
  if (outcome.isSettled) return { outcome, settlement, commit: { kind: 'committed' } }
  const handedOver = outcome.isSuccess ? outcome.handedOver : NOTHING_HANDED_OVER
  const commit = await deps.settle({ settlement, handedOver })
  if (commit.kind === 'lost' && settlement.steps > 0) await runAgain(ended, deps)
  const hasMessages = handedOver.messages.length > 0
  if (commit.kind === 'committed' && hasMessages) ended.run.business.outbox.committed()
  return { outcome, settlement, commit }
}

/**
 * Hands a job back if its run could not complete it because a step is missing. If the lease was
 * lost, this changes nothing.
 */
async function runAgain(
  { run: { job, attempt } }: EndedRun,
  { settle, observer }: SettleDeps,
): Promise<void> {
  const commit = await settle({ settlement: handedBack(job, attempt), handedOver: NOTHING_HANDED_OVER })
  if (commit.kind !== 'committed') return
  observer.warning?.({
    message: 'the database has lost a commit of a run: its job runs again',
    detail: `receipt ${job.receiptId}: a failover to a standby loses what the standby had not received; use a synchronous standby`,
  })
}

/**
 * A job must not fail for good while the outcome of one of its calls is unknown: it stops for
 * attention instead. Returns undefined if the ledger did not answer.
 */
async function stopForAttention(
  { run, outcome }: EndedRun,
  { observer, signal }: SettleDeps,
): Promise<Outcome | undefined> {
  if (outcome.isSuccess || outcome.isSettled || (run.isFirst && !outcome.hasEffects)) return outcome
  const { job, business } = run
  const found = await persistently(async () => ({ error: await stopAtOpenCall(business, job) }), {
    doing: 'reading the open calls of a job that fails for good',
    observer,
    signal,
  })
  if (!found) return undefined
  return found.error ? { ...outcome, error: found.error, isSettled: true } : outcome
}
