import { SECOND_MS } from '../../model/durations.ts'

export interface RetryAdvice {
  /** Whether a retry may get a different response. */
  readonly retryable: boolean
  /** The minimum delay that the server requested. */
  readonly afterMs?: number
}

/**
 * Temporary conditions. Server failures are retried too: with a key, a retry reveals the outcome.
 */
const TEMPORARY = new Set([408, 425, 429])
/** Permanent server errors. */
const PERMANENT = new Set([501, 505])

/**
 * 409 has two meanings: the request is in progress (then Retry-After is present), or its outcome is
 * unknown, which no retry can fix. 422 means that the key was used with a different request.
 */
export function retryAdvice({ status, headers }: Response, nowMs: number): RetryAdvice {
  const afterMs = retryAfterMs(headers.get('retry-after'), nowMs)
  const retryable =
    status === 409
      ? afterMs !== undefined
      : TEMPORARY.has(status) || (status >= 500 && !PERMANENT.has(status))
  return { retryable, ...(afterMs === undefined ? {} : { afterMs }) }
}

/** Parses Retry-After: seconds, or an HTTP date. */
function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(date - nowMs, 0)
}
