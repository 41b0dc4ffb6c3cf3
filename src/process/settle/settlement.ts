import type { JobRef } from '../../ledger/jobs/job-ref.ts'
import type { Settlement } from '../../ledger/jobs/settle.ts'
import { recordedStackOf } from '../../model/thrown.ts'
import { Drain } from '../../work/interruption.ts'
import { afterFailure } from '../../work/retry.ts'
import type { Outcome } from '../outcome.ts'
import type { Run } from '../run.ts'

export interface EndedRun {
  readonly run: Run
  readonly outcome: Outcome
  readonly durationMs: number
}

/** The state of a job after its run, and when it is due again. */
export function settlementOf({ run, outcome, durationMs }: EndedRun): Settlement {
  const { job, attempt } = run
  if (outcome.isSuccess) {
    // Copied field by field: spreading the job would cost as much as the rest of this function.
    const { shard, receiptId, subscriber, fence } = job
    const reason = outcome.staleReason ?? undefined
    return {
      shard,
      receiptId,
      subscriber,
      fence,
      state: 'processed',
      delayMs: 0,
      returnAttempt: false,
      reason,
      steps: run.progress.steps,
    }
  }
  if (run.interruption.reason instanceof Drain) return handedBack(job, attempt)
  const { circuit } = run.subscriber.limiter ?? {}
  const failure = {
    error: outcome.error,
    attempt,
    ageMs: run.ageMs + durationMs,
    isUncounted: circuit?.isClosed === false,
    minDelayMs: circuit?.probeDelayMs,
  }
  const next = afterFailure(failure, run.subscriber.retry)
  const returnAttempt = next.state === 'retrying' && !next.counts
  return {
    ...job,
    state: next.state,
    delayMs: next.state === 'retrying' ? next.delayMs : 0,
    returnAttempt,
    reason: next.reason,
    steps: 0,
    // An attempt that does not count gets no row.
    stack: returnAttempt ? undefined : recordedStackOf(outcome.error),
  }
}

/** Hands a job back. The attempt does not count, and the next worker may start it at once. */
export function handedBack(job: JobRef, attempt: number): Settlement {
  const state = attempt > 1 ? 'retrying' : 'received'
  return { ...job, state, delayMs: 0, returnAttempt: true, reason: undefined, steps: 0 }
}
