import { HookonceError } from '../model/errors.ts'
import { Permanent, RetryAfter } from '../model/handler-errors.ts'
import type { RetryPolicy } from './subscriber.ts'

export type Verdict =
  | { readonly state: 'retrying'; readonly delayMs: number; readonly reason: string }
  | { readonly state: 'failed'; readonly reason: string }

export interface Failure {
  readonly error: unknown
  readonly attempt: number
  readonly ageMs: number
}

/** Errors are kept to be read by a person; this much of one is enough. */
const MAX_REASON_CHARS = 2_000

/** What becomes of a job whose run failed. */
export function afterFailure(
  failure: Failure,
  policy: RetryPolicy,
  random: () => number = Math.random,
): Verdict {
  const reason = describe(failure.error)
  if (failure.error instanceof Permanent) return { state: 'failed', reason: `permanent: ${reason}` }
  if (failure.attempt >= policy.maxAttempts) {
    return { state: 'failed', reason: `gave up after ${failure.attempt} attempts: ${reason}` }
  }
  const delayMs = delayFor(failure, policy, random)
  if (failure.ageMs + delayMs > policy.maxAgeMs) {
    return { state: 'failed', reason: `gave up after ${hours(failure.ageMs)} hours: ${reason}` }
  }
  return { state: 'retrying', delayMs, reason }
}

// Full jitter: the whole delay is random, so that what failed together does not come back together.
function delayFor({ error, attempt }: Failure, policy: RetryPolicy, random: () => number): number {
  const asked = error instanceof RetryAfter ? error.delayMs : 0
  const ceiling = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1))
  return Math.min(Math.max(asked, random() * ceiling), policy.maxAgeMs)
}

function hours(ms: number): string {
  return (ms / 3_600_000).toFixed(1)
}

function describe(error: unknown): string {
  if (error instanceof HookonceError) return error.message.slice(0, MAX_REASON_CHARS)
  const text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`
  return text.slice(0, MAX_REASON_CHARS)
}
