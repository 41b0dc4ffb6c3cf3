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
/** These headers belong to one client or one transfer and must not be replayed to another. */
const NEVER_STORED =
  /^(set-cookie2?|date|age|connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|content-length|content-encoding)$/

/** These headers identify the sender and are not stored with a request. */
export const CREDENTIALS = /^(authorization|proxy-authorization|cookie2?)$/

const callable = <Function_>() =>
  z.custom<Function_>((value) => typeof value === 'function', 'must be a function')

export const storeField = z.custom<KeyStore>(isStore, 'must be a key store, such as redisKeys({ client })')

const optionsSchema = strict({
  ...policyFields,
  store: storeField,
  tenant: z.union([z.literal('global'), callable<(origin: never) => string | Promise<string>>()], {
    error: "must be a function that returns the tenant of a request, or 'global' if there is only one",
  }),
  /** `off`: a request without a key runs unprotected. */
  required: z.enum(['on', 'off']).default('on'),
  fingerprint: fingerprintSchema.prefault({}),
  /** In addition to the headers in stored-reply.ts. */
  storeHeaders: z
    .array(
      z
        .string()
        .toLowerCase()
        .refine(
          (name) => !NEVER_STORED.test(name),
          'belongs to one client or one transfer, so it is never stored',
        ),
    )
    .default([]),
  /** `on`: failures are stored and replayed too, as in Stripe's API v1. */
  store5xx: z.enum(['on', 'off']).default('off'),
  /** `run`: while the store is down, requests run unprotected (and are counted). */
  onStoreDown: z.enum(['refuse', 'run']).default('refuse'),
  /**
   * The URL where a client can follow a request in progress. With it, such requests get 202 instead
   * of 409.
   */
  progress: callable<(origin: never) => string>().optional(),
  /**
   * Stores bodies larger than `maxResultBytes`. Without it, such a body is not stored and cannot be
   * replayed.
   */
  spill: z.custom<Spill>(isSpill, 'must have the functions put and get').optional(),
  reconcile: callable<(record: KeyRecord) => Promise<Reconciled<Reply>>>().optional(),
  /** The id of a request in your logs. Stored with the reply. */
  requestId: callable<(origin: never) => string | undefined>().optional(),
  observe: callable<(event: KeyEvent) => void>().optional(),
  problemBase: z.string().min(1).default(PROBLEM_BASE),
  /** The name under which a completer finds abandoned requests. */
  pledge: z.string().min(1).optional(),
  /**
   * In addition to content-type, content-encoding, accept, accept-language, and the fingerprint's
   * headers.
   */
  pledgeHeaders: z
    .array(
      z
        .string()
        .toLowerCase()
        .refine((name) => !CREDENTIALS.test(name), 'holds credentials, which are never stored'),
    )
    .default([]),
  completeAfterMs: completeAfterField,
  /** The body is held in memory while it is hashed. */
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB),
  /**
   * For all requests of one store together. A request that would exceed it is rejected with 503.
   */
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB),
  /**
   * From the headers to the end of the body: enough for 5 MiB over a slow mobile line (1 Mbit/s).
   */
  bodyTimeoutMs: timer.default(MINUTE_MS),
})
  .refine(({ onCrash, reconcile }) => (onCrash === 'reconcile') === (reconcile !== undefined), {
    error: "`onCrash: 'reconcile'` and the function `reconcile` must be set together",
  })
  .refine(({ handler, required }) => handler !== 'transactional' || required === 'on', {
    error: "`handler: 'transactional'` needs a key, so `required` cannot be 'off'",
  })
  .refine(({ handler, store }) => handler !== 'transactional' || isTransactional(store), {
    error: "`handler: 'transactional'` needs a store with transactions, such as postgresKeys()",
  })
  .refine(({ handler, store }) => handler !== 'resumable' || store.steps !== undefined, {
    error: "`handler: 'resumable'` needs a store with steps",
  })

  .refine(({ pledge, handler }) => pledge === undefined || handler === 'resumable', {
    error: "`pledge` needs `handler: 'resumable'`, because only finished steps make a second run safe",
  })
  .refine(({ pledge, onCrash }) => pledge === undefined || onCrash !== 'unknown', {
    error: "`pledge` has no effect with `onCrash: 'unknown'`, because a crashed request may not run again",
  })
  .refine(({ pledge, store }) => pledge === undefined || store.pledges !== undefined, {
    error: '`pledge` needs a store with pledges: postgresKeys(), redisKeys() or memoryKeys()',
  })

export type CheckedKeysOptions = z.output<typeof optionsSchema> & {
  readonly deadlines: Deadlines
  readonly held: HeldBytes
}

type InputOptions = z.input<typeof optionsSchema>
/** `Origin` is the framework's own request object. */
export type KeysOptions<Origin> = Omit<InputOptions, 'tenant' | 'progress' | 'requestId'> & {
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

/**
 * Counted per store: each route has its own options, and a limit per route would not limit the
 * process.
 */
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
