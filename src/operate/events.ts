import type { LedgerTables } from '../ledger/ledger.ts'
import { type EventPosition, type EventRow, readEvents } from '../ledger/read/events.ts'
import { HookonceError } from '../model/errors.ts'
import type { JobState } from '../model/job-state.ts'
import { checkLimit, likePattern } from './page.ts'

export type { EventRow }

/** Which events are meant; all of them without any. */
export interface EventFilter {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  /** Events on which this subscriber has a job. */
  readonly subscriber?: string | undefined
  /** Events with a job in this state: of `subscriber`, where that is given too. */
  readonly state?: JobState | undefined
  /** An event type, or a pattern such as `invoice.*`. */
  readonly type?: string | undefined
  /** Received at this time or later. */
  readonly since?: Date | undefined
  /** Received before this time. */
  readonly until?: Date | undefined
}

export interface EventQuery extends EventFilter {
  readonly limit: number
  /** The cursor of an event, or `next` of a page: the list goes on after it. */
  readonly after?: string | undefined
}

export interface EventPage {
  readonly events: readonly EventRow[]
  /**
   * Where the next page begins. Undefined: there is none. With a filter that few events match, a
   * page may hold fewer than `limit` events, or none, although there is a next one.
   */
  readonly next: string | undefined
}

/** Receipts per shard and statement that are tried against a filter. */
const FILTERED_WALK = 500
/** Statements per page. A filter that matches few events ends the page early, with `next`. */
const MAX_WALKS = 4

/**
 * Lists events, newest first. A cursor names a position, so pages neither repeat nor skip events
 * while new ones arrive. A page reads a bounded number of receipts, however long the history is.
 */
export async function listEvents(
  { pool, shards }: LedgerTables,
  { limit, after, type, ...filter }: EventQuery,
): Promise<EventPage> {
  checkLimit(limit)
  const typeLike = type === undefined ? undefined : likePattern(type)
  const isFiltered = type !== undefined || Object.values(filter).some((value) => value !== undefined)
  const walk = isFiltered ? FILTERED_WALK : Math.min(limit + 1, FILTERED_WALK)
  const events: EventRow[] = []
  let next = after
  for (let walks = 0; walks < MAX_WALKS; walks += 1) {
    const missing = limit - events.length
    const position = next === undefined ? undefined : positionOf(next)
    const found = await readEvents(pool, {
      ...filter,
      typeLike,
      shards,
      walk,
      // One more shows whether there is a next page.
      limit: missing + 1,
      after: position,
    })
    events.push(...found.events.slice(0, missing))
    if (found.events.length > missing) return { events, next: events.at(-1)?.cursor }
    next = found.walkedTo
    if (next === undefined) break
  }
  return { events, next }
}

const CURSOR = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function positionOf(cursor: string): EventPosition {
  const [, receivedAt, id] = CURSOR.exec(cursor) ?? []
  if (receivedAt !== undefined && id !== undefined && !Number.isNaN(Date.parse(receivedAt)))
    return { receivedAt, id }
  throw new HookonceError(
    'CONFIG_INVALID',
    `"${cursor}" is not a cursor of an event: pass the \`cursor\` of an event, or \`next\` of a page`,
  )
}
