import type { z } from 'zod'
import { faultsOf } from '../../input/checked.ts'
import { type ErrorCode, type ErrorEntry, errorCatalogue, HookonceError } from '../../model/errors.ts'

/* Problem details (RFC 9457) with the codes of the catalogue. */

export const PROBLEM_MEDIA = 'application/problem+json'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  readonly retryable: boolean
  /** The faults of an invalid request: the place and the reason of each. */
  readonly errors?: readonly FieldFault[]
}

export interface FieldFault {
  /** `query.limit`, `body.why`. */
  readonly at: string
  readonly message: string
}

/** An error with the faults of single fields. */
export class InvalidRequest extends HookonceError {
  readonly errors: readonly FieldFault[]

  constructor(part: 'query' | 'body', issues: readonly z.core.$ZodIssue[]) {
    const errors = faultsOf(issues).map(({ path, message }) => ({ at: [part, ...path].join('.'), message }))
    super('REQUEST_INVALID', errors.map(({ at, message }) => `${at}: ${message}`).join('; '))
    this.errors = errors
  }
}

/** Undefined: the error is not in the catalogue, so its text must not be sent. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof HookonceError)) return problem('INTERNAL_ERROR', 'an unexpected error')
  const detail = error.message.slice(`${error.code}: `.length)
  const found = problem(error.code, detail)
  return error instanceof InvalidRequest ? { ...found, errors: error.errors } : found
}

function problem(code: ErrorCode, detail: string): Problem {
  const entry: ErrorEntry = errorCatalogue[code]
  return {
    type: `urn:hookonce:error:${code}`,
    title: entry.advice,
    status: entry.status ?? 500,
    detail,
    code,
    retryable: entry.retryable,
  }
}
