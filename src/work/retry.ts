import { errorCatalogue, HookonceError } from '../model/errors.ts'
import { Deferred, Permanent, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'

/** How often and how long a job or a message is tried. */
export interface RetryPolicy {
  readonly maxAttempts: number
  readonly maxAgeMs: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}

export type RetryDecision =
  | {
      readonly state: 'retrying'
      readonly delayMs: number
      readonly reason: string
      /** Whether it is one of the attempts that a job has. */
      readonly counts: boolean
    }
  | { readonly state: 'failed'; readonly reason: string }

export interface Failure {
  readonly error: unknown
  readonly attempt: number
  readonly ageMs: number
}

/** Errors are kept to be read by a person; this much of one is enough. */
const MAX_REASON_CHARS = 2_000
/** The ledger counts a delay in 31 bits of milliseconds: 24 days. */
const LONGEST_DELAY_MS = 2 ** 31 - 1
const SHORTEST_DEFERRAL_MS = 100

/** What becomes of a job whose run failed, or of a message that could not be published. */
export function afterFailure(
  failure: Failure,
  policy: RetryPolicy,
  random: () => number = Math.random,
): RetryDecision {
  const reason = describe(failure.error)
  if (failure.error instanceof Permanent) return { state: 'failed', reason: `permanent: ${reason}` }
  if (isFinal(failure.error)) return { state: 'failed', reason }
  const counts = !(failure.error instanceof Deferred)
  if (counts && failure.attempt >= policy.maxAttempts) {
    return { state: 'failed', reason: `gave up after ${failure.attempt} attempts: ${reason}` }
  }
  const delayMs = delayFor(failure, policy, random)
  if (failure.ageMs + delayMs > policy.maxAgeMs) {
    return { state: 'failed', reason: `gave up after ${hours(failure.ageMs)} hours: ${reason}` }
  }
  return { state: 'retrying', delayMs, reason, counts }
}

// Full jitter: the whole delay is random, so that what failed together does not come back together.
function delayFor({ error, attempt }: Failure, policy: RetryPolicy, random: () => number): number {
  // As asked, neither sooner nor later; but a handler that defers by nothing must not spin.
  if (error instanceof Deferred)
    return Math.min(Math.max(error.delayMs || 0, SHORTEST_DEFERRAL_MS), LONGEST_DELAY_MS)
  // NaN is what becomes of a Retry-After header that could not be read.
  const asked = error instanceof RetryAfter && !Number.isNaN(error.delayMs) ? error.delayMs : 0
  const ceiling = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1))
  return Math.min(Math.max(asked, random() * ceiling), policy.maxAgeMs, LONGEST_DELAY_MS)
}

/**
 * What the catalogue calls not retryable is a mistake of the program, or gone for good: each attempt would make it again, and
 * with it all that the handler did before. A replay follows the correction.
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
