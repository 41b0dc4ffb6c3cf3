import { HOUR_MS, SECOND_MS } from '../model/durations.ts'

/** Longer delays are cut: a mistake of the other server must not delay the event for days. */
const MAX_RETRY_AFTER_MS = HOUR_MS

/** The delay of a Retry-After header: seconds or a date, as HTTP allows. Shopify sends `2.0`. */
export function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * SECOND_MS : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS)
}
