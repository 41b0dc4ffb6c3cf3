import { HookonceError } from '../model/errors.ts'

/** A page is held in memory: more than this many rows are a mistake. */
const MAX_LIMIT = 10_000

export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new HookonceError('CONFIG_INVALID', `limit must be a number from 1 to ${MAX_LIMIT}, not ${limit}`)
}

/** An event type, or a pattern with `*`, as a pattern of LIKE. */
export function likePattern(type: string): string {
  return type.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
}
