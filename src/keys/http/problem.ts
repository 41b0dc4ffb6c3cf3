import { type ErrorCode, type ErrorEntry, errorCatalogue, type HookonceError } from '../../model/errors.ts'
import type { Reply } from './message.ts'

interface Problem {
  readonly slug: string
  readonly title: string
  /**
   * For the API's caller; the catalogue's advice is for the operator. Absent if each error has its
   * own detail.
   */
  readonly detail?: string
}

/** Problem details (RFC 9457). The types are stable, so clients can rely on them. */
const problems = {
  KEY_MISSING: {
    slug: 'key-missing',
    title: 'Idempotency-Key is missing',
    detail:
      'Send an Idempotency-Key header: a new random key for each operation, and the same key for its retries.',
  },
  KEY_MALFORMED: { slug: 'key-malformed', title: 'Idempotency-Key is malformed' },
  KEY_REUSED: {
    slug: 'key-reused',
    title: 'Idempotency-Key was used with another request',
    detail:
      'This key was used with a different request. Use a new key for a new operation, and send retries unchanged.',
  },
  KEY_IN_PROGRESS: {
    slug: 'in-progress',
    title: 'A request with this Idempotency-Key is in progress',
    detail:
      'The first request with this key is still in progress. Send it again after the time in Retry-After.',
  },
  OUTCOME_UNKNOWN: {
    slug: 'outcome-unknown',
    title: 'The outcome of this request is unknown',
    detail:
      'The first request with this key did not finish properly. It may or may not have taken effect. Find out before you send it again with a new key.',
  },
  RESULT_NOT_STORED: {
    slug: 'body-not-stored',
    title: 'The reply was not stored',
    detail:
      'The first request with this key took effect, but its reply was not stored. Read the resource itself instead: the Location header, if present, names it.',
  },
  LOCK_LOST: {
    slug: 'lock-lost',
    title: 'Another request with this Idempotency-Key took over',
    detail:
      'Another request with this key took over before this one finished. Send it again after the time in Retry-After.',
  },
  KEY_STORE_DOWN: {
    slug: 'store-down',
    title: 'Idempotency keys cannot be checked now',
    detail:
      'The server cannot check now whether this key was used before, so nothing was done. Send it again after the time in Retry-After.',
  },
  PLEDGE_GONE: {
    slug: 'pledge-gone',
    title: 'There is nothing to resume',
    detail: 'The request to resume no longer exists, or belongs to another tenant. Nothing was done.',
  },
  BODY_TOO_LARGE: { slug: 'body-too-large', title: 'The body is too large' },
  BODY_STALLED: { slug: 'body-stalled', title: 'The body did not arrive in time' },
  OVERLOADED: {
    slug: 'overloaded',
    title: 'Too many requests are being handled',
    detail:
      'The server has no memory for the body of this request now. Send it again after the time in Retry-After.',
  },
} as const satisfies Partial<Record<ErrorCode, Problem>>

export type ProblemCode = keyof typeof problems

export const PROBLEM_BASE = 'urn:hookonce:problem:'

export function problem(
  code: ProblemCode,
  { base, detail, headers = {} }: { base: string; detail?: string; headers?: Record<string, string> },
): Reply {
  const entry: ErrorEntry = errorCatalogue[code]
  const known: Problem = problems[code]
  const status = entry.status ?? 500
  const body = { type: `${base}${known.slug}`, title: known.title, status, detail: detail ?? known.detail }
  return {
    status,
    headers: [['content-type', 'application/problem+json'], ...Object.entries(headers)],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** The error message without its code. */
export function detailOf({ code, message }: HookonceError): string {
  return message.slice(`${code}: `.length)
}

export function isProblem(code: ErrorCode): code is ProblemCode {
  return code in problems
}

/** An error thrown by a handler may contain secrets, so it is not sent. */
export function internalError(): Reply {
  return untyped(500, 'Internal Server Error')
}

/** A problem with nothing but a status and a title. */
export function untyped(status: number, title: string): Reply {
  return {
    status,
    headers: [['content-type', 'application/problem+json']],
    body: Buffer.from(JSON.stringify({ type: 'about:blank', title, status })),
  }
}
