import type { LedgerTables } from '../ledger/ledger.ts'
import { ledgerClock } from '../ledger/read/changes.ts'
import { type EventRow, type EventSearch, listEvents, timeOfCursor } from './events.ts'

/*
 * Events as they arrive; with the state `failed` or `attention`, as their jobs come into it. A look
 * reads what is newer than a position. The position stays some seconds behind the ledger's clock,
 * because a commit dates its rows when it begins: rows of that time are read again, and those that
 * were returned are left out. So memory and cost of a look depend on what arrives, not on history.
 */

export interface FollowQuery extends Omit<EventSearch, 'key' | 'q' | 'until'> {
  /** The cursor of an event: goes on there. Events of the seconds before it are returned again. */
  readonly after?: string | undefined
  /** Without `since` and `after`: how many of the latest events come first. */
  readonly latest: number
}

export interface EventTail {
  /** What is new since the last look, in small batches, the oldest first. */
  look(): AsyncGenerator<readonly EventRow[]>
}

/** How long a commit may take. A later one is not followed, but `hookonce events` lists it. */
const OVERLAP_MS = 5_000
const PAGE = 500
/**
 * More than arrive within the overlap. Beyond them, the oldest are forgotten and may come twice.
 */
const MAX_RETURNED = 100_000

export function followEvents(ledger: LedgerTables, query: FollowQuery): EventTail {
  const { after, latest, ...search } = query
  const returned = new Set<string>()
  /** Everything before this position was returned. */
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

  /** Returns the latest events, if the query asks for them. */
  async function begin(nowMs: number): Promise<readonly EventRow[]> {
    const settled = positionAt(nowMs - OVERLAP_MS)
    if (after !== undefined) position = positionAt(timeOfCursor(after).getTime() - OVERLAP_MS)
    else if (search.since !== undefined) position = positionAt(search.since.getTime())
    if (position !== undefined) return []
    const { events } = await listEvents(ledger, { ...search, limit: latest })
    const first = events.at(-1)?.cursor
    // A full page: what is older than its first event was not asked for.
    position = events.length === latest && first !== undefined && first > settled ? first : settled
    return fresh(events.toReversed())
  }

  async function* look(): AsyncGenerator<readonly EventRow[]> {
    const nowMs = (await ledgerClock(ledger.pool)).getTime()
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

/** Before all events of this time. Positions of one length are in the order of their texts. */
function positionAt(ms: number): string {
  return `${new Date(ms).toISOString().replace('Z', '000Z')}_ffffffff-ffff-ffff-ffff-ffffffffffff`
}
