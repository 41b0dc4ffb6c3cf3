import type pg from 'pg'
import { z } from 'zod'
import { check, strict } from './input/checked.ts'
import { DAY_MS, DEFAULT_LEASE_MS, HANDLER_MS, HOUR_MS, SECOND_MS } from './model/durations.ts'
import type { Event } from './model/event.ts'
import type { Logger } from './observe/logs.ts'
import { type CustomObserver, observerMembers } from './observe/observer.ts'
import type { Publish } from './publishers/contract.ts'
import { limitsSchema } from './receive/limits.ts'
import type { Source } from './sources/contract.ts'

/*
 * The options of hookonce(), checked once, with the reason for each default. The types derive from
 * the schemas.
 */

const positive = z.number().positive()
/**
 * A timer of Node holds 31 bits of milliseconds, three weeks; beyond that it would fire at once.
 */
const timer = positive.max(2 ** 31 - 1)
/** Fifty years: the ledger counts the seconds of retention in 31 bits. */
const days = positive.max(18_250)

const retryFields = {
  /** The ledger counts them in 15 bits. */
  maxAttempts: z.int().positive().max(32_000),
  maxAgeMs: positive,
  baseDelayMs: positive,
  maxDelayMs: positive,
}

const retrySchema = strict({
  /**
   * With the delays below, twenty attempts reach over more than half a day; the age limit ends
   * them.
   */
  maxAttempts: retryFields.maxAttempts.default(20),
  /** 72 h: what a bad deploy on Friday broke can be mended on Monday. */
  maxAgeMs: retryFields.maxAgeMs.default(72 * HOUR_MS),
  /** The first retry comes within this time, the next within twice as much. */
  baseDelayMs: retryFields.baseDelayMs.default(2 * SECOND_MS),
  /** An outage that has ended is noticed within the hour. */
  maxDelayMs: retryFields.maxDelayMs.default(HOUR_MS),
})

const retentionSchema = strict({
  /** Bodies hold personal data: a month is enough to look into a complaint. */
  bodyDays: days.default(30),
  /**
   * A key protects against repeats for as long as it is kept. Never less than the provider's
   * retries plus a day.
   */
  keyDays: days.default(90),
})

const publish = z.custom<Publish>(
  (value) => typeof value === 'function',
  'must be a publisher: your function, or one of hookonce/publishers',
)

const outboxSchema = strict({
  /**
   * Who carries messages on, by topic or pattern; the first that matches. `elsewhere`: another
   * process does.
   */
  publishers: z.union([z.literal('elsewhere'), z.record(z.string().min(1), publish)], {
    error: "must be publishers by topic, or 'elsewhere'",
  }),
  /** Lanes in flight for each publisher. */
  concurrency: z.int().positive().default(32),
  /** A broker answers in milliseconds, a slow HTTP endpoint in seconds. */
  timeoutMs: timer.default(30 * SECOND_MS),
  /** What is left out is as for jobs. */
  retry: strict(retryFields).partial().prefault({}),
  /** A week: enough to look into a complaint, and messages may hold personal data. */
  keepDays: days.default(7),
})

const sourceName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'a source name is 1 to 64 letters, digits, "-" and "_"')

const SOURCES_MISSING = 'pass at least one source, such as { stripe: stripe({ secret }) } of hookonce/sources'

const optionsSchema = strict({
  database: z
    .union([z.string(), z.custom<pg.Pool>(isPool)], { error: 'must be a postgres:// URL or a pg.Pool' })
    .optional(),
  dir: z.string().min(1).default('.hookonce'),
  migrate: z.enum(['auto', 'off']).default('auto'),
  prepare: z.enum(['on', 'off']).default('on'),
  /**
   * `unsafe` accepts a server that loses what it has acknowledged when it crashes: for tests, never
   * for real events.
   */
  durability: z.enum(['required', 'unsafe']).default(() => durabilityOf(process.env)),
  sources: z.record(
    sourceName,
    z.custom<Source>(
      (value) => isSource(value),
      'must be a source, such as stripe({ secret }) of hookonce/sources',
    ),
    { error: ({ code }) => (code === 'invalid_type' ? SOURCES_MISSING : undefined) },
  ),
  concurrency: z.int().positive().default(32),
  leaseMs: timer.int().min(500).default(DEFAULT_LEASE_MS),
  /** What another process accepted is noticed within this time. What this one accepted, at once. */
  pollMs: timer.min(10).default(500),
  maxConnections: z.int().min(2).default(10),
  limits: limitsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  retry: retrySchema.prefault({}),
  outbox: outboxSchema.optional(),
  logger: z
    .custom<Logger>((value) => isLogger(value), 'must have the methods info, warn and error')
    .optional(),
  observers: z
    .array(
      z.custom<CustomObserver>(
        (value) => isObserver(value),
        `must be an object with methods such as attempt(fact); known are ${observerMembers.join(', ')}`,
      ),
      { error: 'must be an array of observers' },
    )
    .default([]),
}).refine(({ outbox, retention }) => !outbox || outbox.keepDays <= retention.keyDays, {
  path: ['outbox', 'keepDays'],
  // A forgotten event that comes again is a new one, whose messages have the ids of the old.
  message:
    'must not exceed retention.keyDays: a repeated event whose key was pruned could not publish its messages',
})

const subscriberSchema = strict({
  name: z.string().min(1).max(200).optional(),
  concurrency: z.int().positive().optional(),
  timeoutMs: timer.default(HANDLER_MS),
  /** Events with the same key run one at a time, in the order in which they were recorded. */
  ordered: z
    .custom<(event: Event) => string>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  /** What is left out is as for all subscribers. */
  retry: strict(retryFields).partial().prefault({}),
})

export type Sources = Readonly<Record<string, Source>>
export type Options<S extends Sources = Sources> = Omit<z.input<typeof optionsSchema>, 'sources'> & {
  readonly sources: S
}
export type CheckedOptions = z.output<typeof optionsSchema>
export type SubscriberOptions = z.input<typeof subscriberSchema>
export type CheckedSubscriberOptions = z.output<typeof subscriberSchema>

export function checkOptions(options: unknown): CheckedOptions {
  // Without any options, what is missing are the sources.
  return check(optionsSchema, options ?? {}, 'hookonce()')
}

/** The environment is where a test server is known; any other word is taken for the safe one. */
function durabilityOf({ HOOKONCE_DURABILITY }: NodeJS.ProcessEnv): 'required' | 'unsafe' {
  return HOOKONCE_DURABILITY === 'unsafe' ? 'unsafe' : 'required'
}

export function checkSubscriberOptions(options: unknown, where: string): CheckedSubscriberOptions {
  return check(subscriberSchema, options, where)
}

/** The policy of one subscriber, or of the outbox: its own words first, then those for all. */
export function retryPolicy(
  all: CheckedOptions['retry'],
  own: CheckedSubscriberOptions['retry'],
): CheckedOptions['retry'] {
  return {
    maxAttempts: own.maxAttempts ?? all.maxAttempts,
    maxAgeMs: own.maxAgeMs ?? all.maxAgeMs,
    baseDelayMs: own.baseDelayMs ?? all.baseDelayMs,
    maxDelayMs: own.maxDelayMs ?? all.maxDelayMs,
  }
}

/**
 * How long keys of a source are kept: as asked, but never less than its provider can retry plus a
 * day.
 */
export function keySeconds(options: CheckedOptions, source: Source): number {
  const margin = DAY_MS
  return Math.ceil(Math.max(options.retention.keyDays * DAY_MS, source.retryWindowMs + margin) / SECOND_MS)
}

export function bodySeconds(options: CheckedOptions): number {
  return Math.ceil((options.retention.bodyDays * DAY_MS) / SECOND_MS)
}

// By shape: the caller's copy of pg may be another one than ours.
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
