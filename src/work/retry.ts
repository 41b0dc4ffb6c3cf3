import { errorCatalogue, HookonceError } from '../model/errors.ts'
import { Deferred, Permanent, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'

/** How often and for how long a job or a message is retried. */
export interface RetryPolicy {
  readonly maxAttempts: number
  readonly maxAgeMs: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** The delay before each retry, in place of delays that double. The last one repeats. */
  readonly scheduleMs?: readonly number[] | undefined
}

export type RetryDecision =
  | {
      readonly state: 'retrying'
      readonly delayMs: number
      readonly reason: string
      /** Whether the attempt counts towards `maxAttempts`. */
      readonly counts: boolean
    }
  | { readonly state: 'failed'; readonly reason: string }

export interface Failure {
  readonly error: unknown
  readonly attempt: number
  readonly ageMs: number
  /** The attempt does not count: the called service is known to be down. */
  readonly isUncounted?: boolean
  /** The earliest time of the next attempt. */
  readonly minDelayMs?: number | undefined
}

/** The length of a stored reason, which people read. */
const MAX_REASON_CHARS = 2_000
/** The ledger stores a delay in 31 bits of milliseconds: 24 days. */
const LONGEST_DELAY_MS = 2 ** 31 - 1
const SHORTEST_DEFERRAL_MS = 100

/** Decides what happens to a job whose run failed, or to a message that was not published. */
export function afterFailure(
  failure: Failure,
  policy: RetryPolicy,
  random: () => number = Math.random,
): RetryDecision {
  const reason = describe(failure.error)
  if (failure.error instanceof Permanent) return { state: 'failed', reason: `permanent: ${reason}` }
  if (isFinal(failure.error)) return { state: 'failed', reason }
  const counts = !(failure.error instanceof Deferred || failure.isUncounted)
  if (counts && failure.attempt >= policy.maxAttempts) {
    return { state: 'failed', reason: `gave up after ${failure.attempt} attempts: ${reason}` }
  }
  const delayMs = delayFor(failure, policy, random)
  if (failure.ageMs + delayMs > policy.maxAgeMs) {
    return { state: 'failed', reason: `gave up after ${hours(failure.ageMs)} hours: ${reason}` }
  }
  return { state: 'retrying', delayMs, reason, counts }
}

function delayFor(
  { error, attempt, minDelayMs = 0 }: Failure,
  policy: RetryPolicy,
  random: () => number,
): number {
  // The requested delay has no jitter. A minimum prevents a handler that defers by 0 ms from
  // spinning.
  if (error instanceof Deferred)
    return Math.min(Math.max(error.delayMs || 0, SHORTEST_DEFERRAL_MS), LONGEST_DELAY_MS)
  // A Retry-After header that cannot be parsed gives NaN.
  const asked = error instanceof RetryAfter && !Number.isNaN(error.delayMs) ? error.delayMs : 0
  return Math.min(
    Math.max(asked, minDelayMs, ownDelay(attempt, policy, random)),
    policy.maxAgeMs,
    LONGEST_DELAY_MS,
  )
}

/** The share of a scheduled delay that is random. */
const SCHEDULE_JITTER = 0.1

// Jitter, so that jobs that failed together are not retried together. Without a schedule the whole
// delay is random (full jitter).
function ownDelay(
  attempt: number,
  { scheduleMs, baseDelayMs, maxDelayMs }: RetryPolicy,
  random: () => number,
): number {
  const scheduled = scheduleMs?.[Math.min(attempt, scheduleMs.length) - 1]
  if (scheduled !== undefined) return scheduled * (1 + SCHEDULE_JITTER * random())
  return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1))
}

/**
 * An error that the catalogue marks as not retryable is a bug of the program, or its cause is
 * permanent. Each retry would repeat it, and everything that the handler did before it. After a
 * fix, a replay runs the job again.
 */
function isFinal(error: unknown): boolean {
  return error instanceof HookonceError && !errorCatalogue[error.code].retryable
}

function hours(ms: number): string {
  return (ms / 3_600_000).toFixed(1)
}

function describe(error: unknown): string {
  const text = error instanceof HookonceError ? error.message : textOfThrown(error)
  return text.slice(0, MAX_REASON_CHARS)
}
