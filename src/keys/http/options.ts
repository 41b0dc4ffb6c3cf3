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

export const optionsSchema = strict({
  store: storeField.describe('any key store'),
  tenant: z
    .union([z.literal('global'), callable<(origin: never) => string | Promise<string>>()], {
      error: "must be a function that returns the tenant of a request, or 'global' if there is only one",
    })
    .describe("a function of the request, or `'global'`"),
  required: z.enum(['on', 'off']).default('on').describe('`off`: a request without a key runs unprotected'),
  ...policyFields,
  reconcile: callable<(record: KeyRecord) => Promise<Reconciled<Reply>>>()
    .optional()
    .describe("finds out how a crashed run ended, with `onCrash: 'reconcile'`"),
  fingerprint: fingerprintSchema.prefault({}).meta({
    description:
      "which parts of a request must be equal: `json: 'canonical'` (RFC 8785), `fields`, `headers`, `previous`: the settings before this deploy",
    defaultsTo: 'the bytes',
  }),
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
    .default([])
    .describe(
      'headers to store in addition to content-type, content-disposition, content-language, content-security-policy, x-content-type-options, cache-control, location, etag and link; never cookies',
    ),
  store5xx: z
    .enum(['on', 'off'])
    .default('off')
    .describe("`on` also stores failures, as Stripe's API v1 does"),
  onStoreDown: z
    .enum(['refuse', 'run'])
    .default('refuse')
    .describe('`run`: while the store is down, requests run unprotected, and are counted'),
  progress: callable<(origin: never) => string>()
    .optional()
    .describe(
      'the URL where a client can follow a request in progress. Such a request then gets 202 instead of 409',
    ),
  spill: z
    .custom<Spill>(isSpill, 'must have the functions put and get')
    .optional()
    .describe(
      '`put` and `get` of a blob store, for bodies above `maxResultBytes`; [when it fails](#large-replies)',
    ),
  requestId: callable<(origin: never) => string | undefined>()
    .optional()
    .describe('returns the id of a request in your logs, stored in the record'),
  problemBase: z
    .string()
    .min(1)
    .default(PROBLEM_BASE)
    .describe('the prefix of the `type` of a rejection; with your own URL it is a link'),
  pledge: z
    .string()
    .min(1)
    .optional()
    .describe('the name under which a [completer](#complete-abandoned-requests) finds abandoned requests'),
  pledgeHeaders: z
    .array(
      z
        .string()
        .toLowerCase()
        .refine((name) => !CREDENTIALS.test(name), 'holds credentials, which are never stored'),
    )
    .default([])
    .describe(
      "headers that a pledge stores in addition to content-type, content-encoding, accept, accept-language and the fingerprint's headers",
    ),
  completeAfterMs: completeAfterField,
  /** The body is held in memory while it is hashed. */
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB)
    .describe('a larger request is rejected with 413'),
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB)
    .describe(
      'for the bodies of all requests of one store, from the first byte to the end of the handler; above it, 503',
    ),
  /** Enough for 5 MiB over a slow mobile line (1 Mbit/s). */
  bodyTimeoutMs: timer
    .default(MINUTE_MS)
    .describe('from the headers to the end of the body; a slower request is rejected with 408'),
  observe: callable<(event: KeyEvent) => void>()
    .optional()
    .describe(
      'receives `ran`, `replayed`, `locked`, `mismatch`, `unknown`, `taken_over`, `failed`, `lost_lock`, `not_persisted`, `store_down`, `heartbeat_failed`',
    ),
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
