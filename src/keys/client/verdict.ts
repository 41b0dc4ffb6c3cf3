import { SECOND_MS } from '../../model/durations.ts'

export interface Verdict {
  /** Whether a retry may get a different response. */
  readonly again: boolean
  /** The minimum delay that the server asked for. */
  readonly afterMs?: number
}

/**
 * Temporary conditions. Server failures are retried too: with a key, a retry is the way to learn
 * the outcome.
 */
const OF_THE_MOMENT = new Set([408, 425, 429])
/** Permanent server errors. */
const FOR_GOOD = new Set([501, 505])

/**
 * 409 has two meanings: the request is in progress (then Retry-After is present), or its outcome is
 * unknown, which no retry can fix. 422 means that the key was used with a different request.
 */
export function verdictOn({ status, headers }: Response, nowMs: number): Verdict {
  const afterMs = retryAfterMs(headers.get('retry-after'), nowMs)
  const again =
    status === 409
      ? afterMs !== undefined
      : OF_THE_MOMENT.has(status) || (status >= 500 && !FOR_GOOD.has(status))
  return { again, ...(afterMs === undefined ? {} : { afterMs }) }
}

/** Parses Retry-After: seconds, or an HTTP date. */
function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(date - nowMs, 0)
}
