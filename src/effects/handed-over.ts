import { PUBLISHED, WRITTEN, WRITTEN_AND_PUBLISHED } from '../ledger/effects/steps.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import type { CheckedWrite } from './write.ts'

/**
 * What a handler handed over with ctx.write and ctx.publish, to be committed with the completion of
 * its job.
 */
export interface HandedOver {
  readonly writes: readonly CheckedWrite[]
  readonly messages: readonly NewMessage[]
}

/**
 * The step that records it. A record of messages must not stand for writes that never happened, nor
 * the reverse.
 */
export function recordOf({ writes, messages }: HandedOver): string {
  if (messages.length === 0) return WRITTEN
  return writes.length === 0 ? PUBLISHED : WRITTEN_AND_PUBLISHED
}

/** What earlier runs of the job handed over: a replay does not hand it over again. */
export interface HandedOverBefore {
  readonly writes: boolean
  readonly messages: boolean
}

export function handedOverBefore(steps: readonly string[]): HandedOverBefore {
  return {
    writes: steps.includes(WRITTEN) || steps.includes(WRITTEN_AND_PUBLISHED),
    messages: steps.includes(PUBLISHED) || steps.includes(WRITTEN_AND_PUBLISHED),
  }
}
