import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { harmless, type KeyEvent } from './events.ts'
import { digest, keyId } from './identity.ts'
import { type Policy, policyFields } from './policy.ts'
import type { KeyRecord } from './record.ts'
import { decodeValue, encodeValue } from './result.ts'
import { type RunContext, type RunEnd, run, type Task } from './run.ts'
import type { KeyStore, TransactionalKeyStore } from './store.ts'

/** How a crashed run ended, as far as the caller can find out. */
export type Reconciled<Value> = { readonly complete: Value } | 'release' | 'unknown'

export const onceSchema = strict({
  ...policyFields,
  /** Keys of different tenants never collide. Pass 'global' if there is only one tenant. */
  tenant: z
    .string({ error: "is required: the owner of the key, or 'global' if there is only one tenant" })
    .min(1),
  /**
   * Compared on every call: the same key with a different input is rejected. Any value that JSON
   * can represent.
   */
  input: z.unknown().optional(),
  label: z
    .string()
    .max(200)
    .optional()
    .describe('only for `once()`: the id of a message or job, stored in the record'),
  reconcile: z.custom<(record: KeyRecord) => Promise<unknown>>(isFunction, 'must be a function').optional(),
  observe: z.custom<(event: KeyEvent) => void>(isFunction, 'must be a function').optional(),
}).refine(({ onCrash, reconcile }) => (onCrash === 'reconcile') === (reconcile !== undefined), {
  error: "`onCrash: 'reconcile'` and the function `reconcile` must be set together",
})

export type OnceOptions<Value = unknown> = Omit<z.input<typeof onceSchema>, 'reconcile' | 'handler'> & {
  readonly reconcile?: (record: KeyRecord) => Promise<Reconciled<Value>>
}
export type OnceContext = Omit<RunContext, 'tx'>
export type TransactionalContext<Tx> = OnceContext & { readonly tx: Tx }

/**
 * Runs `fn` once per key. The value it returned is stored as JSON and returned to every later call.
 *
 * The first caller receives the same JSON value as later callers: a Date becomes a string. If the
 * value has no JSON form, or is larger than `maxResultBytes`, only the first caller receives it.
 *
 * Throws KEY_IN_PROGRESS while another run holds the key, KEY_REUSED if the key was used with a
 * different input, OUTCOME_UNKNOWN if an earlier run ended without a known outcome, KEY_STORE_DOWN
 * if the store did not answer and `fn` did not run, and LOCK_LOST if `fn` ran but another run took
 * over the key. Rethrows whatever `fn` throws.
 */
export function once<Value, Tx>(
  store: TransactionalKeyStore<Tx>,
  key: string,
  fn: (context: TransactionalContext<Tx>) => Value | Promise<Value>,
  options: OnceOptions<Value> & { readonly handler: 'transactional' },
): Promise<Value>
export function once<Value>(
  store: KeyStore,
  key: string,
  fn: (context: OnceContext) => Value | Promise<Value>,
  options: OnceOptions<Value> & { readonly handler?: 'opaque' | 'declared' | 'resumable' },
): Promise<Value>
export async function once<Value>(
  store: KeyStore,
  key: string,
  fn: (context: TransactionalContext<never>) => Value | Promise<Value>,
  options: OnceOptions<Value> & { readonly handler?: unknown },
): Promise<Value> {
  if (isPlain(options)) {
    const { tenant, input } = options
    return runOnce(store, key, fn, { tenant, input, policy: DEFAULT_POLICY })
  }
  const { tenant, input, label, observe, reconcile, ...policy } = check(onceSchema, options, 'once()')
  return runOnce(store, key, fn, { tenant, input, label, observe, reconcile, policy })
}

const { tenant: _, ...DEFAULT_POLICY } = onceSchema.parse({ tenant: 'any' })

/**
 * Whether the options are nothing but a valid tenant and an input. Most calls pass no more, and
 * checking them against the schema would take longer than the rest of a replay.
 */
function isPlain(options: object): options is Pick<OnceOptions, 'tenant' | 'input'> {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) if (name !== 'tenant' && name !== 'input') return false
  return 'tenant' in options && typeof options.tenant === 'string' && options.tenant !== ''
}

interface OnceTask {
  readonly tenant: string
  readonly input: unknown
  readonly label?: string | undefined
  readonly observe?: ((event: KeyEvent) => void) | undefined
  readonly reconcile?: ((record: KeyRecord) => Promise<unknown>) | undefined
  readonly policy: Policy
}

/** `more` holds the options that tasks with a completer add. */
export async function runOnce<Value>(
  store: KeyStore,
  key: string,
  fn: (context: TransactionalContext<never>) => Value | Promise<Value>,
  { tenant, input, label, observe, reconcile, policy }: OnceTask,
  more: Pick<Task<Value>, 'pledge' | 'resumes'> = {},
): Promise<Value> {
  // JavaScript callers may pass a missing or numeric id.
  if (typeof key !== 'string' || key === '')
    throw new HookonceError(
      'CONFIG_INVALID',
      `once(): the key must be a non-empty string, not ${textOf(key)}`,
    )
  if (typeof fn !== 'function')
    throw new HookonceError('CONFIG_INVALID', 'once(): the third argument must be a function')
  function complete(returned: Value): RunEnd<Value> {
    const { result, value } = encodeValue(returned, policy.maxResultBytes)
    return { value, settle: { to: 'completed', result, ttlMs: policy.ttlMs } }
  }
  const outcome = await run<Value>({
    store,
    id: keyId(tenant, key),
    fingerprint: `once-1:${digest([jsonOf(input)])}`,
    policy,
    observe: harmless(observe),
    ...more,
    ...(label === undefined ? {} : { label }),
    run: async (context) => complete(await fn(context as TransactionalContext<never>)),
    ...(reconcile === undefined
      ? {}
      : {
          async reconcile(record) {
            // The schema checks only that `reconcile` is a function. The caller guarantees its
            // result type.
            const found = (await reconcile(record)) as Reconciled<Value>
            if (found === 'release') return 'run'
            return found === 'unknown' ? found : complete(found.complete)
          },
        }),
  })
  switch (outcome.outcome) {
    case 'ran':
      return outcome.value
    case 'completed':
      return decodeValue<Value>(outcome.record.result ?? new Uint8Array())
    case 'locked':
      throw new HookonceError('KEY_IN_PROGRESS', `run "${outcome.record.holder}" holds the key`)
    case 'mismatch':
      throw new HookonceError('KEY_REUSED', 'the key was used before with a different input')
    case 'unknown':
      throw new HookonceError(
        'OUTCOME_UNKNOWN',
        `run "${outcome.record.holder}" ended without a recorded outcome`,
      )
    case 'lost':
      throw new HookonceError(
        'LOCK_LOST',
        'the function ran, but another run took over the key, so its result was not stored',
      )
  }
}

function textOf(key: unknown): string {
  return key === '' ? 'an empty string' : key === null ? 'null' : typeof key
}

function jsonOf(input: unknown): string {
  try {
    return JSON.stringify(input) ?? ''
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      'once(): `input` cannot be converted to JSON, so calls cannot be compared',
      {
        cause: error,
      },
    )
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
