import { type ErrorCode, type ErrorEntry, errorCatalogue, type HookonceError } from '../../model/errors.ts'
import type { Reply } from './message.ts'

/** Problem details (RFC 9457). The types are stable: clients may tell cases apart by them. */
const problems = {
  KEY_MISSING: ['key-missing', 'Idempotency-Key is missing'],
  KEY_MALFORMED: ['key-malformed', 'Idempotency-Key is malformed'],
  KEY_REUSED: ['key-reused', 'Idempotency-Key was used with another request'],
  KEY_IN_PROGRESS: ['in-progress', 'A request with this Idempotency-Key is in progress'],
  OUTCOME_UNKNOWN: ['outcome-unknown', 'The outcome of this request is unknown'],
  RESULT_NOT_STORED: ['body-not-stored', 'The reply was not stored'],
  LOCK_LOST: ['lock-lost', 'Another request with this Idempotency-Key took over'],
  KEY_STORE_DOWN: ['store-down', 'Idempotency keys cannot be checked now'],
  PLEDGE_GONE: ['pledge-gone', 'There is nothing to resume'],
  BODY_TOO_LARGE: ['body-too-large', 'The body is too large'],
  BODY_STALLED: ['body-stalled', 'The body did not arrive in time'],
} as const satisfies Partial<Record<ErrorCode, readonly [slug: string, title: string]>>

export type ProblemCode = keyof typeof problems

export const PROBLEM_BASE = 'urn:hookonce:problem:'

export function problem(
  code: ProblemCode,
  { base, detail, headers = {} }: { base: string; detail?: string; headers?: Record<string, string> },
): Reply {
  const entry: ErrorEntry = errorCatalogue[code]
  const [slug, title] = problems[code]
  const status = entry.status ?? 500
  const body = { type: `${base}${slug}`, title, status, detail: detail ?? entry.advice }
  return {
    status,
    headers: [['content-type', 'application/problem+json'], ...Object.entries(headers)],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** What its message says after the code. */
export function detailOf({ code, message }: HookonceError): string {
  return message.slice(`${code}: `.length)
}

export function isProblem(code: ErrorCode): code is ProblemCode {
  return code in problems
}

/** What a handler threw may hold secrets, so it is not sent. */
export function internalError(): Reply {
  return untyped(500, 'Internal Server Error')
}

/** A problem that is nothing but its status. */
export function untyped(status: number, title: string): Reply {
  return {
    status,
    headers: [['content-type', 'application/problem+json']],
    body: Buffer.from(JSON.stringify({ type: 'about:blank', title, status })),
  }
}
