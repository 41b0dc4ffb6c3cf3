import { HookonceError } from '../model/errors.ts'
import { compareText } from './compare-text.ts'

/** A page is held in memory: a larger limit is probably a mistake. */
const MAX_LIMIT = 10_000

export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new HookonceError('CONFIG_INVALID', `limit must be a number from 1 to ${MAX_LIMIT}, not ${limit}`)
}

/** An event type, or a pattern with `*`, as a pattern of LIKE. */
export function likePattern(type: string): string {
  return type.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
}

/** A pattern of LIKE for texts that contain this text. `*` has no special meaning here. */
export function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/** A position in a list that is ordered by time, then by id. */
export interface TimePosition {
  /** A time in PostgreSQL's format, with microseconds. */
  readonly at: string
  readonly id: string
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const TIME_POSITION = new RegExp(`^(\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2})(\\.\\d{6}Z)_(${UUID})$`)

/** Throws if the text is not a valid position: the error of PostgreSQL would be unclear. */
export function timePosition(cursor: string): TimePosition {
  const [, seconds = '', rest = '', id = ''] = TIME_POSITION.exec(cursor) ?? []
  const time = Date.parse(`${seconds}Z`)
  // Date.parse reads the 30th of February as the 2nd of March.
  const isDate = !Number.isNaN(time) && new Date(time).toISOString().startsWith(seconds)
  if (!isDate || seconds === '') throw notPosition(cursor)
  return { at: `${seconds}${rest}`, id }
}

/**
 * Compares positions as the statements order them: the latest time first, and within one time the
 * lowest id first. A group commit gives many rows one time.
 */
export function compareLatestFirst(a: string, b: string): number {
  const [timeA = '', idA = ''] = a.split('_')
  const [timeB = '', idB = ''] = b.split('_')
  return compareText(timeB, timeA) || compareText(idA, idB)
}

const LANE_POSITION = new RegExp(`^(-1|[0-2]?\\d{1,4})_(${UUID})_(\\d{1,18})$`)

/** A position in the list of waiting messages: shard, lane and number. */
export function requireLanePosition(cursor: string): void {
  if (!LANE_POSITION.test(cursor)) throw notPosition(cursor)
}

function notPosition(cursor: string): HookonceError {
  return new HookonceError(
    'CURSOR_INVALID',
    `"${cursor.slice(0, 100)}" is not a cursor of this list: pass \`next\` or \`previous\` of a page`,
  )
}
