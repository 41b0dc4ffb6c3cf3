import { z } from 'zod'
import { strict } from '../input/checked.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../model/durations.ts'

/*
 * What may be decided for each route or kind of task, with the reason for each default.
 */

/** A timer of Node holds 31 bits of milliseconds; beyond that it would fire at once. */
export const timer = z
  .int()
  .positive()
  .max(2 ** 31 - 1)
const KIB = 1024

const handlerKinds = ['opaque', 'declared', 'resumable', 'transactional'] as const
/**
 * What is known of what a handler does.
 * `opaque`: nothing. `declared`: whatever reaches the outside is inside `ctx.step`. `resumable`: the same, and finished
 * steps are replayed to the next run. `transactional`: all it does is in `ctx.tx`, which commits with the result.
 */
export type HandlerKind = (typeof handlerKinds)[number]

export const policyFields = {
  handler: z.enum(handlerKinds).default('opaque'),
  /** Longer than most handlers, so that heartbeats are rare; short enough for a crash to be noticed by a retry. */
  lockMs: timer.min(100).default(MINUTE_MS),
  /** From the completion on. A day is longer than clients go on retrying. */
  ttlMs: z.int().positive().default(DAY_MS),
  /** `off`: whoever comes while it is in progress is told so at once. */
  waitMs: z.union([z.literal('off'), timer]).default('off'),
  /** `auto`: reexecute where that is safe (resumable, transactional), else unknown. */
  onCrash: z.enum(['auto', 'reexecute', 'unknown', 'reconcile']).default('auto'),
  /** Results above it are not kept in the store: DynamoDB ends at 400 KB, Firestore at 1 MiB. */
  maxResultBytes: z
    .int()
    .positive()
    .default(256 * KIB),
  /** For each call of the store. Clients give up after some ten seconds; a refusal must reach them before. */
  storeTimeoutMs: timer.default(5 * SECOND_MS),
}

const policySchema = strict(policyFields)
export type Policy = z.output<typeof policySchema>

export function crashPolicy({
  onCrash,
  handler,
}: Pick<Policy, 'onCrash' | 'handler'>): 'reexecute' | 'unknown' | 'reconcile' {
  if (onCrash !== 'auto') return onCrash
  return handler === 'resumable' || handler === 'transactional' ? 'reexecute' : 'unknown'
}

/**
 * What becomes of a key whose handler failed. Only what is known to have left no trace may run again: a step that began
 * may have reached the outside, whatever the handler says afterwards.
 */
export function afterFailure(handler: HandlerKind, stepsBegun: number): 'released' | 'unknown' {
  if (handler === 'resumable') return 'released'
  if (handler === 'opaque' || stepsBegun > 0) return 'unknown'
  return 'released'
}
