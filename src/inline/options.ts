import { z } from 'zod'
import { bodyLimitFields } from '../delivery/limits.ts'
import { check, strict } from '../input/checked.ts'
import type { KeyEvent } from '../keys/events.ts'
import { storeField } from '../keys/http/options.ts'
import { policyFields } from '../keys/policy.ts'
import { DAY_MS } from '../model/durations.ts'
import type { Source } from '../sources/contract.ts'

const optionsSchema = strict({
  ...policyFields,
  store: storeField,
  /**
   * Part of the identity of an event: two endpoints of one provider need two names. Default: the
   * name of the provider.
   */
  name: z.string().min(1).max(64).optional(),
  /** Event types, or patterns with `*`. Other events are acknowledged and not handled. */
  types: z.array(z.string().min(1)).min(1).default(['*']),
  /**
   * The default is `resumable` if the store holds steps, else `declared`: a handler that failed or
   * crashed runs again.
   */
  handler: policyFields.handler.unwrap().optional(),
  onCrash: z.enum(['auto', 'reexecute', 'unknown']).default('auto'),
  /** The default, and the minimum, is the time during which the provider retries, plus a day. */
  ttlMs: z.int().positive().optional(),
  /**
   * The answer to a copy while the first delivery is being handled. `refuse`: 409, so the provider
   * retries, whatever happens to the first delivery. `accept`: 202, for providers that disable
   * endpoints after errors. If the first delivery then crashes, the event is not sent again.
   */
  inProgress: z.enum(['refuse', 'accept']).default('refuse'),
  ...bodyLimitFields,
  observe: z
    .custom<(event: KeyEvent) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

export type InlineOptions = z.input<typeof optionsSchema>
export type CheckedInlineOptions = ReturnType<typeof checkInlineOptions>

export function checkInlineOptions(options: unknown, source: Source, where: string) {
  const checked = check(optionsSchema, options, where)
  const { store, name = source.provider, handler = store.steps ? 'resumable' : 'declared' } = checked
  const runsAgain = checked.handler === undefined && checked.onCrash === 'auto'
  return {
    ...checked,
    name,
    handler,
    onCrash: runsAgain ? ('reexecute' as const) : checked.onCrash,
    ttlMs: Math.max(checked.ttlMs ?? 0, source.retryWindowMs + DAY_MS),
  }
}
