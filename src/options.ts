import type pg from 'pg'
import { z } from 'zod'
import { alertsSchema } from './alerts/config.ts'
import { check, strict } from './input/checked.ts'
import { didYouMean } from './input/closest.ts'
import { ledgersFaults } from './input/ledgers-faults.ts'
import { ledgersSchema } from './input/ledgers-options.ts'
import { circuitSchema, rateSchema } from './input/limiter-options.ts'
import { positive, retryFields, timerMs } from './input/retry-options.ts'
import { DAY_MS, DEFAULT_LEASE_MS, HANDLER_MS, HOUR_MS, SECOND_MS } from './model/durations.ts'
import { HookonceError } from './model/errors.ts'
import type { Event } from './model/event.ts'
import { DEFAULT_SCHEMA, SCHEMA_NAME, SCHEMA_NAME_RULE } from './model/schema-name.ts'
import { sourceNameOf, tenantOf } from './model/source-key.ts'
import type { Logger } from './observe/logs.ts'
import { type CustomObserver, observerMembers } from './observe/observer.ts'
import type { Publish } from './publishers/contract.ts'
import { limitsSchema } from './receive/limits.ts'
import { addressRange, sourceLimitFields, sourceLimitsSchema } from './receive/source-limits.ts'
import type { Source } from './sources/contract.ts'
import { isSecret, type Secret, secretOf } from './sources/options.ts'

/*
 * The options of hookonce(), checked once, with the reason for each default. The types derive from
 * the schemas.
 */

/** The gateway's configuration has the same limits. */
export { addressRange, limitsSchema, sourceLimitFields }

/** Fifty years: the ledger stores the seconds of retention in 31 bits. */
const days = positive.max(18_250)

const retrySchema = strict({
  /**
   * With the delays below, twenty attempts take more than half a day. A job older than `maxAgeMs`
   * fails even if attempts are left.
   */
  maxAttempts: retryFields.maxAttempts.default(20).describe('the job fails after this many attempts'),
  /** 72 h: a bad deploy on Friday can be fixed on Monday. */
  maxAgeMs: retryFields.maxAgeMs.default(72 * HOUR_MS).describe('the job also fails at this age'),
  /** The first retry comes within this time, the next within twice this time. */
  baseDelayMs: retryFields.baseDelayMs
    .default(2 * SECOND_MS)
    .describe(
      'the delay before a retry is random, between zero and a ceiling. The ceiling starts at this value and doubles',
    ),
  /** So the end of an outage is noticed within an hour. */
  maxDelayMs: retryFields.maxDelayMs.default(HOUR_MS).describe('the highest value of that ceiling'),
})

export const retentionSchema = strict({
  /** Bodies hold personal data: a month is enough to investigate a complaint. */
  bodyDays: days.default(30).describe('hookonce deletes bodies and headers after this time'),
  /**
   * A key detects repeats for as long as it is kept. At least as long as the provider may retry,
   * plus a day.
   */
  keyDays: days
    .default(90)
    .describe(
      "hookonce deletes event keys after this time, but never earlier than one day after the provider's last retry. Without its key, a repeated event is new",
    ),
})

const publish = z.custom<Publish>(
  (value) => typeof value === 'function',
  'must be a publisher: your function, or one of hookonce/publishers',
)

export const outboxSchema = strict({
  /**
   * Publishers by topic or pattern; the first match publishes. `elsewhere`: another process
   * publishes.
   */
  publishers: z
    .union([z.literal('elsewhere'), z.record(z.string().min(1), publish)], {
      error: "must be publishers by topic, or 'elsewhere'",
    })
    .describe(
      "publishers by topic or pattern (`invoice.*`, `*`); the first match gets the message. `'elsewhere'`: this process only records messages, another process publishes them",
    ),
  /** Lanes in flight for each publisher. */
  concurrency: z
    .int()
    .positive()
    .default(32)
    .describe('lanes in progress per publisher; a publisher that hangs does not slow down the others'),
  /** A broker answers in milliseconds, a slow HTTP endpoint in seconds: 30 s is a timeout. */
  timeoutMs: timerMs
    .default(30 * SECOND_MS)
    .describe('timeout of one attempt; then its signal is aborted and the message is retried'),
  /** Omitted values default to those for jobs. */
  retry: strict(retryFields).partial().prefault({}).meta({
    description:
      '`maxAttempts`, `maxAgeMs`, `baseDelayMs`, `maxDelayMs`, or `scheduleMs`: the delay before each retry',
    defaultsTo: 'as for jobs',
  }),
  /** A week is enough to investigate a complaint, and messages may hold personal data. */
  keepDays: days
    .default(7)
    .describe(
      'published and failed messages are deleted after this time, and never later than event keys (`retention.keyDays`)',
    ),
})

/** Encrypts bodies and headers in the ledger. */
const encryptionSchema = strict({
  /**
   * 32 bytes in base64 or hex. During a rotation there are several keys: the first wraps new data
   * keys, the others open older data keys.
   */
  key: z
    .custom<Secret>(
      isSecret,
      'expected a string, { env: name }, { file: path }, an array of those, or a function that returns strings',
    )
    .meta({
      description:
        'encrypts bodies and headers in the ledger: 32 bytes in base64 or hex, or several keys during a rotation; see [privacy](../privacy.md#encrypt-bodies-and-headers)',
      defaultsTo: 'none',
    }),
})

/** `tenant/name` distinguishes sources of several tenants with the same name. */
export const sourceKey = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9][A-Za-z0-9_-]{0,63}\/)?[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
    'a source name is 1 to 64 letters, digits, "-" and "_", or "tenant/name"',
  )

const SOURCES_MISSING = 'pass at least one source, such as { stripe: stripe({ secret }) } of hookonce/sources'

export const optionsSchema = strict({
  database: z
    .union([z.string(), z.custom<pg.Pool>(isPool)], { error: 'must be a postgres:// URL or a pg.Pool' })
    .optional()
    .meta({
      description:
        "a `postgres://` URL, your own `pg.Pool`, or `'embedded'`: a real PostgreSQL under `dir`. Handlers run their transactions on your pool; for its own work, hookonce opens connections with the same options. With `NODE_ENV=production` there is no default, and hookonce does not start without a URL, a pool or `'embedded'`",
      defaultsTo: 'embedded',
    }),
  dir: z
    .string()
    .min(1)
    .default('.hookonce')
    .describe(
      'the folder of the embedded PostgreSQL. hookonce logs a warning if the data there will not last: in a temporary folder, in memory, or in the file system of a container',
    ),
  /** The name of the ledger's schema. A database may hold several ledgers. */
  schema: z
    .string()
    .regex(SCHEMA_NAME, SCHEMA_NAME_RULE)
    .default(DEFAULT_SCHEMA)
    .describe(
      "the name of the ledger's schema: up to 30 lower-case letters, digits and `_`. One database may hold several ledgers, each in its own schema. Ledgers are independent: an event that reaches two of them is processed once in each",
    ),
  /**
   * Several ledgers, named `hookonce_0` and so on, in `database` or on other servers. A tenant
   * lives in one of them. Undefined: one ledger, named by `schema`.
   */
  ledgers: ledgersSchema.optional().meta({
    description:
      'several [ledgers](../scaling.md#6-many-ledgers): a number, or `{ count, also, placement, tenants }`. They are named after `schema`: `hookonce_0`, `hookonce_1` and so on. A tenant lives in one of them',
    defaultsTo: 'one ledger',
  }),
  migrate: z
    .enum(['auto', 'off'])
    .default('auto')
    .describe('`auto` migrates the schema at the first use; `off` only checks it'),
  prepare: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      "set it to `off` behind a pooler in transaction mode, such as PgBouncer, where prepared statements are lost. `ctx.write` also undoes the settings of PgBouncer's `connect_query`: use `alter role … set` or `alter database … set` instead",
    ),
  /**
   * `unsafe` accepts a server that may lose committed events when it crashes: only for tests.
   */
  durability: z
    .enum(['required', 'unsafe'])
    .default(() => durabilityOf(process.env))
    .meta({
      description:
        '`required` refuses to start on a server with `fsync = off` (`SERVER_NOT_DURABLE`). `unsafe` accepts such a server, for tests. `HOOKONCE_DURABILITY=unsafe` in the environment changes the default',
      defaultsTo: '`required`',
    }),
  sources: z
    .record(
      sourceKey,
      z.custom<Source>(
        (value) => isSource(value),
        'must be a source, such as stripe({ secret }) of hookonce/sources',
      ),
      { error: ({ code }) => (code === 'invalid_type' ? SOURCES_MISSING : undefined) },
    )
    .describe(
      "the sources by name: see [sources](sources.md). If several tenants have a source of the same name, use the keys `tenant/name`: `'acme/stripe': stripe({ secret, tenant: 'acme' })`",
    ),
  concurrency: z
    .int()
    .positive()
    .default(32)
    .describe(
      'the number of handlers that run at once in this process. The commit after a handler does not count, unless the handler used `ctx.write` or `ctx.publish`',
    ),
  leaseMs: timerMs
    .int()
    .min(500)
    .default(DEFAULT_LEASE_MS)
    .describe('a worker that sends no heartbeat for this long loses its jobs to other workers; at least 500'),
  /**
   * The time within which jobs of another process are noticed if its announcement was lost. Jobs of
   * this process are noticed at once.
   */
  pollMs: timerMs
    .min(10)
    .default(500)
    .describe(
      "how often an idle worker looks for due jobs, at least 10. It starts jobs of its own process at once, and jobs of other processes when PostgreSQL notifies it; polling finds the rest, such as retries. With `prepare: 'off'` there are no notifications",
    ),
  maxConnections: z
    .int()
    .min(2)
    .default(10)
    .describe(
      'the number of connections for the transactions of handlers, at least 2. hookonce opens more for itself: see [connections](#connections)',
    ),
  limits: limitsSchema.prefault({}),
  /** Limits of single sources, by their names. */
  sourceLimits: z.record(sourceKey, sourceLimitsSchema).default({}),
  /**
   * Proxies whose `x-forwarded-for` names the client, for `sourceLimits.<name>.allow`. None by
   * default: a stranger could send the header too.
   */
  trustedProxies: z
    .array(addressRange)
    .max(1_000)
    .default([])
    .describe(
      "the addresses of your own proxies. hookonce reads the client's address from their `x-forwarded-for`",
    ),
  retention: retentionSchema.prefault({}),
  retry: retrySchema.prefault({}),
  outbox: outboxSchema.optional().describe('the publishers of messages: see [outbox](outbox.md)'),
  encryption: encryptionSchema.optional(),
  /** Rules, and the channels that get the messages. Undefined: no rule is evaluated. */
  alerts: alertsSchema
    .optional()
    .describe('rules, and the channels that get messages: see [alerts](alerts.md)'),
  logger: z
    .custom<Logger>((value) => isLogger(value), 'must have the methods info, warn and error')
    .optional()
    .meta({
      description:
        'an object with the methods `info`, `warn` and `error`, each called with `(fields, message)`, such as pino. For a failed attempt, `fields` has `error` and `stack`. hookonce logs at most ten lines of each kind in ten seconds, and then one line such as `… and 8,312 more`, with the number in `not_logged`',
      defaultsTo: 'warnings on stderr',
    }),
  observers: z
    .array(
      z.custom<CustomObserver>(
        (value) => isObserver(value),
        `must be an object with methods such as attempt(fact); known are ${observerMembers.join(', ')}`,
      ),
      { error: 'must be an array of observers' },
    )
    .default([])
    .describe(
      'your own [observers](#observing): objects whose methods hookonce calls when something happens',
    ),
})
  .superRefine(({ sources, sourceLimits, alerts, schema, ledgers }, context) => {
    for (const { path, message } of ledgers ? ledgersFaults(schema, ledgers) : [])
      context.addIssue({ code: 'custom', path: ['ledgers', ...path], message })
    for (const name of Object.keys(alerts?.sources ?? {}))
      if (!Object.hasOwn(sources, name))
        context.addIssue({
          code: 'custom',
          path: ['alerts', 'sources'],
          message: `no source is named "${name}"${didYouMean(name, Object.keys(sources))}`,
        })
    for (const key of Object.keys(sourceLimits)) {
      if (Object.hasOwn(sources, key)) continue
      const message = `no source is named "${key}"${didYouMean(key, Object.keys(sources))}`
      context.addIssue({ code: 'custom', path: ['sourceLimits', key], message })
    }
    const places = new Map<string, string>()
    for (const [key, { tenant }] of Object.entries(sources)) {
      const place = `${tenant}/${sourceNameOf(key)}`
      const other = places.get(place)
      if (other !== undefined) {
        const message = `is the same source as "${other}": both have the tenant "${tenant}" and the name "${sourceNameOf(key)}"`
        context.addIssue({ code: 'custom', path: ['sources', key], message })
      }
      places.set(place, key)
      if ((tenantOf(key) ?? tenant) === tenant) continue
      context.addIssue({
        code: 'custom',
        path: ['sources', key],
        message: `the source has the tenant "${tenant}": pass \`tenant: '${tenantOf(key)}'\` in its options`,
      })
    }
  })
  .refine(({ outbox, retention }) => !outbox || outbox.keepDays <= retention.keyDays, {
    path: ['outbox', 'keepDays'],
    // An event whose key was pruned counts as new when it arrives again, but its messages have the
    // old ids.
    message:
      'must not exceed retention.keyDays: a repeated event whose key was pruned could not publish its messages',
  })

export const subscriberSchema = strict({
  name: z.string().min(1).max(200).optional().meta({
    description:
      'identifies the subscriber. Two subscribers of a source with the same pattern need different names. Keep the name when you change the pattern: the ledger stores jobs under it',
    defaultsTo: 'the pattern',
  }),
  concurrency: z.int().positive().optional().meta({
    description: 'the number of handlers of this subscriber that run at once in this process',
    defaultsTo: 'that of `hookonce()`',
  }),
  circuit: circuitSchema
    .optional()
    .describe(
      'holds the jobs of this subscriber while most runs fail: [below](#limit-a-subscriber-circuit-rate-and-concurrency)',
    ),
  rate: rateSchema
    .optional()
    .describe('`{ perSecond, burst? }`: how many runs may begin per second, over all processes'),
  limiter: z
    .string()
    .regex(/^[^/\0\p{Surrogate}]{1,200}$/u, 'must be 1 to 200 characters without "/"')
    .optional()
    .describe('a name. Subscribers with the same `limiter` share their circuit, rate and concurrency'),
  timeoutMs: timerMs.default(HANDLER_MS).describe('the time for one run of the handler'),
  /** Omitted values default to those for all subscribers. */
  retry: strict(retryFields).partial().prefault({}).meta({
    description:
      '`maxAttempts`, `maxAgeMs`, `baseDelayMs`, `maxDelayMs`, or some of them; or `scheduleMs`, the delay before each retry: `[5_000, 300_000]`. The default of `maxAttempts` is then the number of delays plus one',
    defaultsTo: 'that of `hookonce()`',
  }),
  ordered: z
    .custom<(event: Event) => string>((value) => typeof value === 'function', 'must be a function')
    .optional()
    .describe('a function that returns an order key: [below](#order-events)'),
  filter: z
    .custom<(event: Event) => boolean>((value) => typeof value === 'function', 'must be a function')
    .optional()
    .describe('a function that chooses among the events of its types: [below](#choose-events-with-a-filter)'),
})

export type Sources = Readonly<Record<string, Source>>
export type Options<S extends Sources = Sources> = Omit<z.input<typeof optionsSchema>, 'sources'> & {
  readonly sources: S
}
export type CheckedOptions = z.output<typeof optionsSchema>
export type OutboxOptions = z.output<typeof outboxSchema>
export type SubscriberOptions = z.input<typeof subscriberSchema>
export type CheckedSubscriberOptions = z.output<typeof subscriberSchema>

export function checkOptions(options: unknown): CheckedOptions {
  // Without any options, the error reports missing sources.
  return check(optionsSchema, options ?? {}, 'hookonce()')
}

/**
 * The outbox of this process. If alerts have channels, it exists even without publishers of the
 * user. Other processes may then publish the user's messages.
 */
export function outboxOf({ outbox, alerts }: CheckedOptions): OutboxOptions | undefined {
  if (outbox || !alerts || Object.keys(alerts.channels).length === 0) return outbox
  return check(outboxSchema, { publishers: {} }, 'outbox')
}

/** Tests set the environment variable. Any other value means the safe default. */
function durabilityOf({ HOOKONCE_DURABILITY }: NodeJS.ProcessEnv): 'required' | 'unsafe' {
  return HOOKONCE_DURABILITY === 'unsafe' ? 'unsafe' : 'required'
}

export function checkSubscriberOptions(options: unknown, where: string): CheckedSubscriberOptions {
  return check(subscriberSchema, options, where)
}

/**
 * The retry policy of one subscriber, or of the outbox: its own values, else the general values. A
 * schedule also sets the number of attempts, unless `maxAttempts` is set too.
 */
export function retryPolicy(
  all: CheckedOptions['retry'],
  { scheduleMs, ...own }: CheckedSubscriberOptions['retry'],
): CheckedOptions['retry'] & Pick<CheckedSubscriberOptions['retry'], 'scheduleMs'> {
  return {
    maxAttempts: own.maxAttempts ?? (scheduleMs ? scheduleMs.length + 1 : all.maxAttempts),
    maxAgeMs: own.maxAgeMs ?? all.maxAgeMs,
    baseDelayMs: own.baseDelayMs ?? all.baseDelayMs,
    maxDelayMs: own.maxDelayMs ?? all.maxDelayMs,
    scheduleMs,
  }
}

/** How long keys of a source are kept: at least as long as its provider may retry, plus a day. */
export function keySeconds(options: CheckedOptions, source: Source): number {
  const margin = DAY_MS
  return Math.ceil(Math.max(options.retention.keyDays * DAY_MS, source.retryWindowMs + margin) / SECOND_MS)
}

export function bodySeconds(options: CheckedOptions): number {
  return Math.ceil((options.retention.bodyDays * DAY_MS) / SECOND_MS)
}

/** The master keys as texts. Reads files and calls functions, once, when the ledger is opened. */
export async function encryptionKeys({ encryption }: Pick<CheckedOptions, 'encryption'>): Promise<string[]> {
  if (!encryption) return []
  const owner = { provider: 'hookonce() encryption', tenant: 'default' }
  const secret = secretOf(encryption.key, owner)
  const texts = [await ('fixed' in secret ? secret.fixed : secret.read())].flat()
  // One empty text among several is a mistake too: events would be stored under the wrong key.
  const given = texts.flatMap((text) => (text?.trim() ? [text] : []))
  if (given.length > 0 && given.length === texts.length) return given
  throw new HookonceError(
    'CONFIG_INVALID',
    'hookonce(): encryption.key is empty; set its environment variable, or leave `encryption` out to store payloads unencrypted',
  )
}

// Checked by shape: the caller may have another copy of pg.
function isPool(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'connect' in value && 'query' in value && 'end' in value
  )
}

function isSource(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'verify' in value &&
    'identify' in value &&
    'provider' in value
  )
}

function isLogger(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && ['info', 'warn', 'error'].every((level) => level in value)
  )
}

function isObserver(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const given: object = value
  const known = observerMembers.filter((member) => Reflect.get(given, member) !== undefined)
  return known.length > 0 && known.every((member) => typeof Reflect.get(given, member) === 'function')
}
