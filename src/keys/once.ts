import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import type { KeyEvent } from './events.ts'
import { digest, keyId } from './identity.ts'
import { policyFields } from './policy.ts'
import type { KeyRecord } from './record.ts'
import { decodeValue, encodeValue } from './result.ts'
import { type Ended, type RunContext, run, type Task } from './run.ts'
import type { KeyStore, TransactionalKeyStore } from './store.ts'

/** How a crashed run had ended, as far as can be found out. */
export type Reconciled<Value> = { readonly complete: Value } | 'release' | 'unknown'

const onceSchema = strict({
  ...policyFields,
  /** Keys of different tenants never meet. Who has none writes 'global'. */
  tenant: z.string({ error: "is needed: whose key it is, or 'global' where there is only one" }).min(1),
  /** What belongs to the key: the same key with another input is refused. Anything that has JSON. */
  input: z.unknown().optional(),
  /** For people who look at the record: the id of the message or job. */
  label: z.string().max(200).optional(),
  reconcile: z.custom<(record: KeyRecord) => Promise<unknown>>(isFunction, 'must be a function').optional(),
  observe: z.custom<(event: KeyEvent) => void>(isFunction, 'must be a function').optional(),
}).refine(({ onCrash, reconcile }) => (onCrash === 'reconcile') === (reconcile !== undefined), {
  error: "`onCrash: 'reconcile'` and the function `reconcile` belong together",
})

export type OnceOptions<Value = unknown> = Omit<z.input<typeof onceSchema>, 'reconcile' | 'handler'> & {
  readonly reconcile?: (record: KeyRecord) => Promise<Reconciled<Value>>
}
export type OnceContext = Omit<RunContext, 'tx'>
export type TransactionalContext<Tx> = OnceContext & { readonly tx: Tx }

/**
 * Runs `fn` once for a key, whoever asks and how often: what it returned is kept (as JSON) and returned to the others.
 *
 * The first gets what the others will: a Date is a text for it too. What has no JSON, or is larger than `maxResultBytes`,
 * reaches the first only.
 *
 * Throws KEY_IN_PROGRESS while another run holds the key, KEY_REUSED when the key came with another input,
 * OUTCOME_UNKNOWN when a run ended without saying how, KEY_STORE_DOWN when nothing could be asked and so nothing was
 * run, LOCK_LOST when it ran but another run has taken the key meanwhile. What `fn` throws is thrown.
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
  return runOnce(store, key, fn, check(onceSchema, options, 'once()'))
}

/** `more`: what a completer needs, or is. */
export async function runOnce<Value>(
  store: KeyStore,
  key: string,
  fn: (context: TransactionalContext<never>) => Value | Promise<Value>,
  { tenant, input, label, observe, reconcile, ...policy }: z.output<typeof onceSchema>,
  more: Pick<Task<Value>, 'pledge' | 'resumes'> = {},
): Promise<Value> {
  // Without types, an id that is not there or is a number comes as it is.
  if (typeof key !== 'string' || key === '')
    throw new HookonceError('CONFIG_INVALID', `once(): the key must be a text, not ${textOf(key)}`)
  if (typeof fn !== 'function')
    throw new HookonceError('CONFIG_INVALID', 'once(): what is to run must be a function')
  function complete(returned: Value): Ended<Value> {
    const { result, value } = encodeValue(returned, policy.maxResultBytes)
    return { value, settle: { to: 'completed', result, ttlMs: policy.ttlMs } }
  }
  const outcome = await run<Value>({
    store,
    id: keyId(tenant, key),
    fingerprint: `once-1:${digest([jsonOf(input)])}`,
    policy,
    observe: observe ?? (() => undefined),
    ...more,
    ...(label === undefined ? {} : { label }),
    run: async (context) => complete(await fn(context as TransactionalContext<never>)),
    ...(reconcile === undefined
      ? {}
      : {
          async reconcile(record) {
            // The schema only knows that it is a function; its type is the caller's promise.
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
      throw new HookonceError('KEY_IN_PROGRESS', `${outcome.record.holder} holds the key`)
    case 'mismatch':
      throw new HookonceError('KEY_REUSED', 'the key came before with another input')
    case 'unknown':
      throw new HookonceError('OUTCOME_UNKNOWN', `${outcome.record.holder} ended without saying how`)
    case 'lost':
      throw new HookonceError('LOCK_LOST', 'it ran, but another run has taken the key meanwhile')
  }
}

function textOf(key: unknown): string {
  return key === '' ? 'an empty one' : key === null ? 'null' : typeof key
}

function jsonOf(input: unknown): string {
  try {
    return JSON.stringify(input) ?? ''
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', 'once(): `input` has no JSON, so it cannot be compared', {
      cause: error,
    })
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
