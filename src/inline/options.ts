import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import type { KeyEvent } from '../keys/events.ts'
import { storeField } from '../keys/http/options.ts'
import { policyFields, timer } from '../keys/policy.ts'
import { DAY_MS, SECOND_MS } from '../model/durations.ts'
import type { Source } from '../sources/contract.ts'

const MIB = 1024 * 1024

const optionsSchema = strict({
  ...policyFields,
  store: storeField,
  /** Part of the identity of an event: two endpoints of one provider need two names. By default the provider's. */
  name: z.string().min(1).max(64).optional(),
  /** Event types, or patterns with `*`: others are answered 200 and not looked at. */
  types: z.array(z.string().min(1)).min(1).default(['*']),
  /** By default `resumable` where the store holds steps, else `declared`: what failed or crashed runs again. */
  handler: policyFields.handler.unwrap().optional(),
  onCrash: z.enum(['auto', 'reexecute', 'unknown']).default('auto'),
  /** By default, and at least, as long as the provider goes on retrying, plus a day. */
  ttlMs: z.int().positive().optional(),
  /**
   * What a copy is told while the first is being handled. `refuse`: 409, so that it comes again, whatever becomes of
   * the first. `accept`: 202, for providers that punish anything else; should the first crash then, nobody sends it again.
   */
  inProgress: z.enum(['refuse', 'accept']).default('refuse'),
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB),
  /** Bodies being read and events being handled, together: beyond it senders are told to come again. */
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB),
  /** From the headers to the end of the body. The slowest provider gives up after 30 s. */
  bodyTimeoutMs: timer.default(15 * SECOND_MS),
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
