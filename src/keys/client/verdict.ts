import { SECOND_MS } from '../../model/durations.ts'

export interface Verdict {
  /** Whether the same request may get another answer. */
  readonly again: boolean
  /** Not before this, because the server said so. */
  readonly afterMs?: number
}

/** They speak of the moment. Of a failure of the server too: with a key, asking again is how to learn what became of it. */
const OF_THE_MOMENT = new Set([408, 425, 429])
/** Failures that stay. */
const FOR_GOOD = new Set([501, 505])

/**
 * 409 has two meanings: in progress, which comes with Retry-After, and an outcome that nobody knows, which no retry
 * mends. 422 says that the key was used for something else.
 */
export function verdictOn({ status, headers }: Response, nowMs: number): Verdict {
  const afterMs = retryAfterMs(headers.get('retry-after'), nowMs)
  const again =
    status === 409
      ? afterMs !== undefined
      : OF_THE_MOMENT.has(status) || (status >= 500 && !FOR_GOOD.has(status))
  return { again, ...(afterMs === undefined ? {} : { afterMs }) }
}

/** Seconds, or a date. */
function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(date - nowMs, 0)
}
