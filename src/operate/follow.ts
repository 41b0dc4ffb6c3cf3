import type { Ledgers } from '../ledger/ledger-set.ts'
import { ledgerClock } from '../ledger/read/changes.ts'
import { everywhere } from './across.ts'
import { type EventRow, type EventSearch, listEvents, timeOfCursor } from './events.ts'

/*
 * Events as they arrive. With the state `failed` or `attention`, events as their jobs reach it.
 * Each read returns events newer than a position. The position stays some seconds behind the
 * ledger's clock, because a commit dates its rows when it begins. Rows within these seconds are
 * read again, and returned events are omitted. So memory and cost of a read depend on new events,
 * not on history.
 */

export interface FollowQuery extends Omit<EventSearch, 'key' | 'q' | 'until'> {
  /**
   * The cursor of an event: continues after it. Returns the events of the seconds before it again.
   */
  readonly after?: string | undefined
  /** Without `since` and `after`: the number of latest events to return first. */
  readonly latest: number
}

export interface EventTail {
  /** The new events since the last read, in small batches, oldest first. */
  look(): AsyncGenerator<readonly EventRow[]>
}

/**
 * How long a commit may take. Events of a slower commit are not followed, but `hookonce events`
 * lists them.
 */
const OVERLAP_MS = 5_000
const PAGE = 500
/**
 * More events than arrive within the overlap. Beyond it, the oldest are forgotten and may be
 * returned twice.
 */
const MAX_RETURNED = 100_000

export function followEvents(ledger: Ledgers, query: FollowQuery): EventTail {
  const { after, latest, ...search } = query
  const returned = new Set<string>()
  /** All events before this position were returned. */
  let position: string | undefined

  function fresh(events: readonly EventRow[]): EventRow[] {
    const found = events.filter(({ cursor }) => !returned.has(cursor))
    for (const { cursor } of found) {
      returned.add(cursor)
      const [oldest] = returned
      if (returned.size > MAX_RETURNED && oldest !== undefined) returned.delete(oldest)
    }
    return found
  }

  /** Returns the latest events, if the query requests them. */
  async function begin(nowMs: number): Promise<readonly EventRow[]> {
    const settled = positionAt(nowMs - OVERLAP_MS)
    if (after !== undefined) position = positionAt(timeOfCursor(after).getTime() - OVERLAP_MS)
    else if (search.since !== undefined) position = positionAt(search.since.getTime())
    if (position !== undefined) return []
    const { events } = await listEvents(ledger, { ...search, limit: latest })
    const first = events.at(-1)?.cursor
    // The page is full, and older events were not requested.
    position = events.length === latest && first !== undefined && first > settled ? first : settled
    return fresh(events.toReversed())
  }

  async function* look(): AsyncGenerator<readonly EventRow[]> {
    const nowMs = (await clockOf(ledger)).getTime()
    if (position === undefined) {
      const events = await begin(nowMs)
      if (events.length > 0) yield events
    }
    for (let before = position; before !== undefined; ) {
      const page = await listEvents(ledger, { ...search, limit: PAGE, before })
      const events = fresh(page.events.toReversed())
      if (events.length > 0) yield events
      before = page.previous
    }
    const settled = positionAt(nowMs - OVERLAP_MS)
    if (position === undefined || position < settled) position = settled
    for (const cursor of returned) if (cursor < position) returned.delete(cursor)
  }

  return { look }
}

/** If clocks differ, uses the one that is furthest behind, so that no event is missed. */
const clockOf = everywhere(
  ({ pool }) => ledgerClock(pool),
  (clocks) => new Date(Math.min(...clocks.map((clock) => clock.getTime()))),
)

/** A position before all events of this time. Positions of the same length sort as texts. */
function positionAt(ms: number): string {
  return `${new Date(ms).toISOString().replace('Z', '000Z')}_ffffffff-ffff-ffff-ffff-ffffffffffff`
}
