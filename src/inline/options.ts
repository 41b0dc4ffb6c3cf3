import { z } from 'zod'
import { bodyLimitFields } from '../delivery/limits.ts'
import { check, strict } from '../input/checked.ts'
import type { KeyEvent } from '../keys/events.ts'
import { storeField } from '../keys/http/options.ts'
import { policyFields } from '../keys/policy.ts'
import { DAY_MS } from '../model/durations.ts'
import type { Source } from '../sources/contract.ts'

export const optionsSchema = strict({
  store: storeField.describe('any key store'),
  name: z.string().min(1).max(64).optional().meta({
    description: "part of an event's identity: two endpoints of one provider need two names",
    defaultsTo: "the provider's",
  }),
  types: z.array(z.string().min(1)).min(1).default(['*']).meta({
    description: 'event types, or patterns with `*`. Other events are acknowledged and not handled',
    defaultsTo: "`['*']`",
  }),
  ...policyFields,
  // A handler that failed or crashed runs again.
  handler: policyFields.handler.unwrap().optional().meta({
    description: policyFields.handler.description,
    defaultsTo: '`resumable` if the store holds steps, else `declared`',
  }),
  onCrash: z.enum(['auto', 'reexecute', 'unknown']).default('auto').meta({
    description: 'what happens to an event whose handler has crashed',
    defaultsTo: 'it runs again, unless `handler` is set',
  }),
  inProgress: z
    .enum(['refuse', 'accept'])
    .default('refuse')
    .describe(
      'the answer to a copy while the first delivery is being handled. `refuse`: 409, so that the provider retries, whatever happens to the first. `accept`: 202, for providers that disable endpoints after errors; if the first then crashes, the event is not sent again',
    ),
  ttlMs: z.int().positive().optional().meta({
    description: 'how long a result is kept',
    defaultsTo: 'as long as the provider retries, plus a day; never less',
  }),
  ...bodyLimitFields,
  observe: z
    .custom<(event: KeyEvent) => void>((value) => typeof value === 'function', 'must be a function')
    .optional()
    .describe('receives the events of keys: see [keys](keys.md#options)'),
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
