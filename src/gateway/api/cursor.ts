import { createHash } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'

/*
 * Opaque cursors: a direction, a position, and a checksum over both and over the query. The
 * checksum is not secret. It detects a cursor that was truncated, edited, or taken from another
 * list or filter. A forged cursor only leads to another position of a list that the caller may read
 * anyway.
 */

/** The parameters of a page, besides its position. */
export interface ListQuery {
  readonly list: string
  readonly filter: Readonly<Record<string, unknown>>
}

export interface CursorPosition {
  /** The list continues after this position. */
  readonly after?: string
  /** The list ends before this position. */
  readonly before?: string
}

export function readCursor(cursor: string | undefined, listQuery: ListQuery): CursorPosition {
  if (cursor === undefined) return {}
  const decoded = Buffer.from(cursor, 'base64url').toString('utf8')
  const isCanonical = Buffer.from(decoded).toString('base64url') === cursor
  const [, checksum, direction, position = ''] = /^([0-9a-f]{16})([ab])(.{1,600})$/s.exec(decoded) ?? []
  if (!isCanonical || checksum === undefined || checksum !== checksumOf(listQuery, `${direction}${position}`))
    throw new HookonceError('CURSOR_INVALID', 'the cursor belongs to another list or to other filters')
  return direction === 'a' ? { after: position } : { before: position }
}

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
  readonly previous: string | null
}

export interface FoundPage<Item> {
  readonly data: readonly Item[]
  /** The positions of the neighbouring pages. Undefined: there is no next or previous page. */
  readonly next?: string | undefined
  readonly previous?: string | undefined
}

export function pageWithCursors<Item>(
  { data, next, previous }: FoundPage<Item>,
  listQuery: ListQuery,
): Page<Item> {
  return { data, next: cursorTo('a', next, listQuery), previous: cursorTo('b', previous, listQuery) }
}

function cursorTo(direction: 'a' | 'b', position: string | undefined, listQuery: ListQuery): string | null {
  if (position === undefined) return null
  const content = `${direction}${position}`
  return Buffer.from(`${checksumOf(listQuery, content)}${content}`).toString('base64url')
}

function checksumOf({ list, filter }: ListQuery, content: string): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([list, sorted, content]))
    .digest('hex')
    .slice(0, 16)
}

export interface Pageable<Item> {
  readonly items: readonly Item[]
  /** Returns a key that is unique in the list. */
  readonly keyOf: (item: Item) => string
  readonly limit: number
}

/** A page of a short list that is always read as a whole. */
export function sliceOf<Item>(
  { items, keyOf, limit }: Pageable<Item>,
  { after, before }: CursorPosition,
): FoundPage<Item> {
  const keys = items.map(keyOf)
  const end =
    before === undefined
      ? Math.min(items.length, (after === undefined ? 0 : indexOf(keys, after) + 1) + limit)
      : indexOf(keys, before)
  const begin =
    before === undefined ? (after === undefined ? 0 : indexOf(keys, after) + 1) : Math.max(0, end - limit)
  return {
    data: items.slice(begin, end),
    next: end < items.length ? `${end - 1}:${keys[end - 1] ?? ''}` : undefined,
    previous: begin > 0 ? `${begin}:${keys[begin] ?? ''}` : undefined,
  }
}

/** If the item no longer exists, the page begins where the item was. */
function indexOf(keys: readonly string[], position: string): number {
  const [, index = '', key = ''] = /^(-?\d{1,6}):(.*)$/s.exec(position) ?? []
  const found = keys.indexOf(key)
  return found >= 0 ? found : Math.max(-1, Math.min(Number(index), keys.length) - (Number(index) > 0 ? 1 : 0))
}
