import { type HandedOver, NOTHING_HANDED_OVER } from '../effects/hand-over.ts'
import { staleReason } from '../effects/latest.ts'
import type { Event } from '../model/event.ts'
import type { Run } from './run.ts'

/** How the handler of a run ended. */
export type Outcome = Success | Failure

export interface Success {
  readonly isSuccess: true
  readonly event: Event | undefined
  /** The hand-over to be committed with the completion of the job. */
  readonly handedOver: HandedOver
  /** The handler's own commit has completed the job. */
  readonly isSettled: boolean
  /**
   * The reason why the event changed nothing: newer versions of its entities were applied before.
   */
  readonly staleReason: string | null
}

export interface Failure {
  readonly isSuccess: false
  /** Undefined if the event could not be decoded. */
  readonly event: Event | undefined
  readonly error: unknown
  /** The job has already stopped for attention. */
  readonly isSettled: boolean
  /** Whether the run requested effects. */
  readonly hasEffects: boolean
}

/** The outcome of a handler that returned, or that threw `thrown.error`. */
export function outcomeOf(run: Run, event: Event | undefined, thrown?: { error: unknown }): Outcome {
  const { handOver, settled, stopped, entityOutcomes, effects } = run.progress
  // The handler's own commit is final, whatever the handler did afterwards.
  if (settled === 'processed' || !(stopped || thrown)) {
    const isSettled = settled === 'processed'
    const handedOver = isSettled ? NOTHING_HANDED_OVER : handOver
    return { isSuccess: true, event, handedOver, isSettled, staleReason: staleReason(entityOutcomes) }
  }
  // A reason to stop is final too, even if the handler caught it.
  const error = stopped ?? thrown?.error
  const isSettled = settled === 'attention'
  return { isSuccess: false, event, error, isSettled, hasEffects: effects !== undefined }
}
