import { type HttpAnswer, isSuccess } from '../http/http-pool.ts'
import { retryAfterMs } from '../http/retry-after.ts'

/** Decides how the response of a destination settles the job. */
export type ForwardOutcome =
  | { readonly kind: 'delivered' }
  /** The destination no longer exists: it is paused, and its jobs wait. */
  | { readonly kind: 'gone'; readonly reason: string }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** The quote of the response at the end of `reason`, if there is one. */
      readonly quote: string
      /** The delay that the destination requested. Undefined: the schedule decides. */
      readonly retryAfterMs: number | undefined
    }

const GONE = 410
const MAX_LOCATION_CHARS = 200

/** No other code interprets a response. */
export function outcomeOf({ status, headers, quote }: HttpAnswer, quotes = true): ForwardOutcome {
  if (isSuccess(status)) return { kind: 'delivered' }
  if (status === GONE) return { kind: 'gone', reason: 'answered 410 Gone' }
  const shown = quotes && !isRedirect(status) ? quote : ''
  const reason = `answered ${status}${isRedirect(status) ? redirection(headers.location) : quoted(shown)}`
  return { kind: 'failed', reason, quote: shown, retryAfterMs: retryAfterMs(headers['retry-after'] ?? null) }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

// Following a redirect could send the event to someone else.
function redirection(location: string | undefined): string {
  const to = location === undefined ? '' : ` to ${location.slice(0, MAX_LOCATION_CHARS)}`
  return `: a redirect${to}. Redirects are not followed; configure the final URL`
}

function quoted(quote: string): string {
  return quote === '' ? '' : `: ${quote}`
}
