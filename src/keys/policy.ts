import { z } from 'zod'
import { strict } from '../input/checked.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../model/durations.ts'

/*
 * The options that each route or kind of task can set, with the reason for each default.
 */

/** Node timers hold 31 bits of milliseconds. A larger value would fire at once. */
export const timer = z
  .int()
  .positive()
  .max(2 ** 31 - 1)
const KIB = 1024

const handlerKinds = ['opaque', 'declared', 'resumable', 'transactional'] as const
/**
 * What hookonce may assume about a handler.
 * `opaque`: nothing. `declared`: every outside call is inside `ctx.step`. `resumable`: the same,
 * and the results of finished steps are returned to the next run. `transactional`: all work happens
 * in `ctx.tx`, which commits together with the result.
 */
export type HandlerKind = (typeof handlerKinds)[number]

export const policyFields = {
  handler: z
    .enum(handlerKinds)
    .default('opaque')
    .describe(
      '[what hookonce may assume about the handler](keys.md#which-responses-are-stored), which decides what happens after a failure',
    ),
  /**
   * Longer than most handlers run, so heartbeats are rare. Short enough that a retry notices a
   * crash.
   */
  lockMs: timer
    .min(100)
    .default(MINUTE_MS)
    .describe(
      'how long a run holds its key after its last heartbeat. A running handler extends it three times within this time',
    ),
  /** A day is longer than clients keep retrying. */
  ttlMs: z
    .int()
    .positive()
    .default(DAY_MS)
    .describe('how long a result is kept, from completion; must be longer than clients keep retrying'),
  waitMs: z
    .union([z.literal('off'), timer])
    .default('off')
    .describe('how long a copy waits for the first request. `off`: it is rejected at once'),
  onCrash: z
    .enum(['auto', 'reexecute', 'unknown', 'reconcile'])
    .default('auto')
    .describe(
      'what happens to a key whose run has crashed. `auto` follows from `handler`; `reconcile` calls the function `reconcile`',
    ),
  /** DynamoDB allows 400 KB per item, Firestore 1 MiB. */
  maxResultBytes: z
    .int()
    .positive()
    .default(256 * KIB)
    .describe('larger results are not stored in the record'),
  /** Clients give up after about ten seconds, so a refusal must arrive earlier. */
  storeTimeoutMs: timer.default(5 * SECOND_MS).describe('the timeout of each call to the store'),
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
 * Decides what happens to a key whose handler failed. Only a handler known to have had no effect
 * may run again. A step that began may have had an effect, whatever the handler reports.
 */
export function afterFailure(handler: HandlerKind, stepsBegun: number): 'released' | 'unknown' {
  if (handler === 'resumable') return 'released'
  if (handler === 'opaque' || stepsBegun > 0) return 'unknown'
  return 'released'
}
