import { z } from 'zod'
import { type Deadlines, deadlines } from '../../http/deadlines.ts'
import { HeldBytes, type HeldCount } from '../../http/held-bytes.ts'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS } from '../../model/durations.ts'
import type { KeyEvent } from '../events.ts'
import type { Reconciled } from '../once.ts'
import { completeAfterField } from '../pledge.ts'
import { policyFields, timer } from '../policy.ts'
import type { KeyRecord } from '../record.ts'
import { isTransactional, type KeyStore } from '../store.ts'
import { fingerprintSchema } from './fingerprint.ts'
import type { Reply } from './message.ts'
import { PROBLEM_BASE } from './problem.ts'
import type { Spill } from './spill.ts'

const MIB = 1024 * 1024
/** They belong to one client or to one transfer: replayed, they would reach another. */
const NEVER_STORED =
  /^(set-cookie2?|date|age|connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|content-length|content-encoding)$/

/** They say who sent a request: they are not kept with it. */
export const CREDENTIALS = /^(authorization|proxy-authorization|cookie2?)$/

const callable = <Function_>() =>
  z.custom<Function_>((value) => typeof value === 'function', 'must be a function')

export const storeField = z.custom<KeyStore>(isStore, 'must be a key store, such as redisKeys({ client })')

const optionsSchema = strict({
  ...policyFields,
  store: storeField,
  tenant: z.union([z.literal('global'), callable<(origin: never) => string | Promise<string>>()], {
    error: "must be a function from the request to its tenant, or 'global' where there is only one",
  }),
  /** `off`: a request without a key runs unprotected. */
  required: z.enum(['on', 'off']).default('on'),
  fingerprint: fingerprintSchema.prefault({}),
  /** Beside those of stored-reply.ts. */
  storeHeaders: z
    .array(
      z
        .string()
        .toLowerCase()
        .refine(
          (name) => !NEVER_STORED.test(name),
          'belongs to one client or one transfer: it is never stored',
        ),
    )
    .default([]),
  /** `on`: a failure is kept and replayed too, as Stripe's API v1 does. */
  store5xx: z.enum(['on', 'off']).default('off'),
  /** `run`: while the store is down, requests run unprotected (and are counted). */
  onStoreDown: z.enum(['refuse', 'run']).default('refuse'),
  /**
   * Where a client can ask how a request in progress is getting on: it is answered 202 instead of
   * 409.
   */
  progress: callable<(origin: never) => string>().optional(),
  /**
   * Where bodies above `maxResultBytes` are kept. Without it, that they were sent is all that is
   * kept.
   */
  spill: z.custom<Spill>(isSpill, 'must have the functions put and get').optional(),
  reconcile: callable<(record: KeyRecord) => Promise<Reconciled<Reply>>>().optional(),
  /** The id of a request in your logs: kept with the reply. */
  requestId: callable<(origin: never) => string | undefined>().optional(),
  observe: callable<(event: KeyEvent) => void>().optional(),
  problemBase: z.string().min(1).default(PROBLEM_BASE),
  /** The name under which a completer finds requests that were begun and left. */
  pledge: z.string().min(1).optional(),
  /**
   * Beside content-type, content-encoding, accept, accept-language, and those of the fingerprint.
   */
  pledgeHeaders: z
    .array(
      z
        .string()
        .toLowerCase()
        .refine((name) => !CREDENTIALS.test(name), 'says who sent it: credentials are not kept'),
    )
    .default([]),
  completeAfterMs: completeAfterField,
  /** The body is held in memory while it is hashed. */
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB),
  /**
   * Of all requests over one store together: a request that would exceed it is refused with 503.
   */
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB),
  /**
   * From the headers to the end of the body: 5 MiB come within it over a slow mobile line (1
   * Mbit/s).
   */
  bodyTimeoutMs: timer.default(MINUTE_MS),
})
  .refine(({ onCrash, reconcile }) => (onCrash === 'reconcile') === (reconcile !== undefined), {
    error: "`onCrash: 'reconcile'` and the function `reconcile` belong together",
  })
  .refine(({ handler, required }) => handler !== 'transactional' || required === 'on', {
    error: "`handler: 'transactional'` needs a key, so `required` cannot be off",
  })
  .refine(({ handler, store }) => handler !== 'transactional' || isTransactional(store), {
    error: "`handler: 'transactional'` needs a store with transactions, such as postgresKeys()",
  })
  .refine(({ handler, store }) => handler !== 'resumable' || store.steps !== undefined, {
    error: "`handler: 'resumable'` needs a store that can hold steps",
  })

  .refine(({ pledge, handler }) => pledge === undefined || handler === 'resumable', {
    error: "`pledge` needs `handler: 'resumable'`: only finished steps make it safe to run again",
  })
  .refine(({ pledge, onCrash }) => pledge === undefined || onCrash !== 'unknown', {
    error: "`pledge` is of no use with `onCrash: 'unknown'`: nobody may run again what crashed",
  })
  .refine(({ pledge, store }) => pledge === undefined || store.pledges !== undefined, {
    error: '`pledge` needs a store that keeps pledges: postgresKeys(), redisKeys() or memoryKeys()',
  })

export type CheckedKeysOptions = z.output<typeof optionsSchema> & {
  readonly deadlines: Deadlines
  readonly held: HeldBytes
}

type Given = z.input<typeof optionsSchema>
/** `Origin` is the request as the framework knows it. */
export type KeysOptions<Origin> = Omit<Given, 'tenant' | 'progress' | 'requestId'> & {
  readonly tenant: 'global' | ((origin: Origin) => string | Promise<string>)
  readonly progress?: (origin: Origin) => string
  readonly requestId?: (origin: Origin) => string | undefined
}

export function checkKeysOptions(options: unknown, where: string): CheckedKeysOptions {
  const checked = check(optionsSchema, options, where)
  return {
    ...checked,
    deadlines: deadlines(checked.bodyTimeoutMs),
    held: new HeldBytes(checked.maxHeldBytes, countOf(checked.store)),
  }
}

/** By store: each route has options of its own, and a limit for each route would be no limit. */
const heldCounts = new WeakMap<KeyStore, HeldCount>()

function countOf(store: KeyStore): HeldCount {
  const count = heldCounts.get(store) ?? { bytes: 0 }
  heldCounts.set(store, count)
  return count
}

function isStore(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['acquire', 'extend', 'settle', 'read'].every((verb) => verb in value)
  )
}

function isSpill(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'put' in value && 'get' in value
}
