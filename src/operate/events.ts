import type { LedgerTables } from '../ledger/ledger.ts'
import type { Ledgers } from '../ledger/ledger-set.ts'
import type { WalkDirection } from '../ledger/read/event-page.ts'
import { type EventOrder, type EventRow, readEvents, readEventsById } from '../ledger/read/events.ts'
import { isFew, readFewEvents } from '../ledger/read/few-events.ts'
import { idRange } from '../ledger/read/id-prefix.ts'
import { registered } from '../ledger/read/registered.ts'
import { type JobState, needsOperator } from '../model/job-state.ts'
import { receiptIds } from '../model/receipt-id.ts'
import { everywhere, pagedEverywhere, sortedBy } from './across.ts'
import { checkLimit, compareLatestFirst, containing, likePattern, timePosition } from './page.ts'

export type { EventRow }

/** Selects events; an empty filter selects all. */
export interface EventFilter {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  /** Events on which this subscriber has a job. */
  readonly subscriber?: string | undefined
  /** Events with a job in this state. With `subscriber`, only jobs of this subscriber count. */
  readonly state?: JobState | undefined
  /** An event type, or a pattern such as `invoice.*`. */
  readonly type?: string | undefined
  /** Received at this time or later. */
  readonly since?: Date | undefined
  /** Received before this time. */
  readonly until?: Date | undefined
}

/** Filters that find single events. */
export interface EventSearch extends EventFilter {
  /** The provider's key of the event. */
  readonly key?: string | undefined
  /** The id of the object that the event is about. */
  readonly object?: string | undefined
  /** The fingerprint of a group of failures, or a part of the error. Implies the state `failed`. */
  readonly error?: string | undefined
  /** An event key, the beginning of a receipt's id, or a part of a key, type or object. */
  readonly q?: string | undefined
}

export interface EventQuery extends EventSearch {
  readonly limit: number
  /** The cursor of an event, or `next` of a page: the list continues after it. */
  readonly after?: string | undefined
  /** `previous` of a page: lists the events before it. */
  readonly before?: string | undefined
}

export interface EventPage {
  readonly events: readonly EventRow[]
  /**
   * The start of the next page. Undefined: there is none. With a filter that few events match, a
   * page may hold fewer than `limit` events, or none, although there is a next one.
   */
  readonly next: string | undefined
  /** The start of the previous page. Undefined on the first page. */
  readonly previous?: string | undefined
}

/** Positions beyond all events. */
const END = {
  older: '0001-01-01T00:00:00.000000Z_ffffffff-ffff-ffff-ffff-ffffffffffff',
  newer: '9999-12-31T00:00:00.000000Z_00000000-0000-0000-0000-000000000000',
} as const

/**
 * Rows that one statement checks against a filter, over all parts of the index. A page without a
 * match then takes about ten milliseconds. Half as many by failure, because the receipt of each
 * failed job is looked up too.
 */
const MAX_ROWS: Readonly<Record<EventOrder, number>> = { arrival: 3_000, failure: 1_500 }
/** Unfinished jobs that are all read for a search by their state. More are found by a walk. */
const MAX_FEW = 500
/**
 * The first statement reads few rows, which is enough for most filters. Each further statement
 * reads more.
 */
const GROWTH = 4
/** An extra share, because the rows of a page are not spread evenly over the shards. */
const SPARE = 4
/** Statements per page. A filter that matches few events ends the page early, with `next`. */
const MAX_WALKS = 3

async function eventsIn(ledger: LedgerTables, query: EventQuery): Promise<EventPage> {
  checkLimit(query.limit)
  if (query.key !== undefined)
    return { events: await eventsWithKey(ledger, query.key, query), next: undefined }
  if (query.q !== undefined && query.after === undefined && query.before === undefined) {
    const named = await eventsNamed(ledger, query.q, query, MIN_ID_PREFIX)
    if (named.length > 0) return { events: named, next: undefined }
  }
  return (await fewEvents(ledger, query)) ?? walkEvents(ledger, query)
}

/**
 * Lists events, newest first. Events in `failed` or `attention` are ordered by the time of their
 * failure. A cursor names a position, so pages neither repeat nor skip events while new ones
 * arrive. A page reads a bounded number of rows, however long the history is.
 */
export const listEvents = pagedEverywhere(eventsIn, {
  itemsOf: ({ events }: EventPage) => events,
  cursorOf: ({ cursor }: EventRow) => cursor,
  make: (events, { next, previous }): EventPage => ({ events, next, previous }),
  compare: compareLatestFirst,
  first: END.newer,
  last: END.older,
  limitOf: ({ limit }: EventQuery) => limit,
})

async function walkEvents(ledger: LedgerTables, query: EventQuery): Promise<EventPage> {
  const { pool, shards } = ledger
  const { limit, after, before } = query
  const direction = directionOf(query)
  const order: EventOrder = isListedByFailure(query) ? 'failure' : 'arrival'
  const parts = order === 'arrival' ? shards : shards * (await subscriberCount(ledger, query))
  const most = Math.max(SPARE, Math.floor(MAX_ROWS[order] / parts))
  const question = { ...fieldsOf(query), order, direction, shards } as const
  const found: EventRow[] = []
  let walk = Math.min(most, Math.ceil((2 * (limit + 1)) / parts) + SPARE)
  let reached = before ?? after
  let hasMore = true
  // Without a filter every row is listed, so a page is always full.
  const maxWalks = isFiltered(query) ? MAX_WALKS : Number.POSITIVE_INFINITY
  for (let walks = 0; walks < maxWalks; walks += 1) {
    const missing = limit - found.length
    const from = reached === undefined ? undefined : timePosition(reached)
    // One extra row shows whether there is another page.
    const walked = await readEvents(pool, { ...question, walk, from, limit: missing + 1 })
    found.push(...walked.events.slice(0, missing))
    if (walked.events.length > missing) {
      reached = found.at(-1)?.cursor
      break
    }
    reached = walked.walkedTo
    hasMore = reached !== undefined
    if (!hasMore) break
    walk = Math.min(most, walk * GROWTH)
  }
  return pageOf(found, hasMore ? reached : undefined, query)
}

/** All events with an unfinished job in this state. Undefined: there are too many to read them all. */
async function fewEvents({ pool, shards }: LedgerTables, query: EventQuery): Promise<EventPage | undefined> {
  const { limit, after, before, state } = query
  if (!isFew(state)) return undefined
  const reached = before ?? after
  const found = await readFewEvents(pool, {
    ...fieldsOf(query),
    direction: directionOf(query),
    shards,
    most: MAX_FEW,
    limit: limit + 1,
    from: reached === undefined ? undefined : timePosition(reached),
  })
  const events = found?.slice(0, limit)
  return events && pageOf(events, found?.[limit] && events.at(-1)?.cursor, query)
}

function directionOf({ before }: EventQuery): WalkDirection {
  return before === undefined ? 'older' : 'newer'
}

/** `found` is in the direction of the walk, `onward` the position where it can continue. */
function pageOf(found: readonly EventRow[], onward: string | undefined, query: EventQuery): EventPage {
  const { after, before } = query
  const direction = directionOf(query)
  const back = found[0]?.cursor ?? onward ?? before ?? after ?? END[direction]
  if (direction === 'newer') return { events: found.toReversed(), next: back, previous: onward }
  return { events: found, next: onward, previous: after === undefined ? undefined : back }
}

function isListedByFailure({ state, error }: EventQuery): boolean {
  return error !== undefined || (state !== undefined && needsOperator(state))
}

function isFiltered({ limit: _, after: __, before: ___, ...filter }: EventQuery): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The number of subscribers that the filter selects, at least one. */
export async function subscriberCount(
  ledger: LedgerTables,
  query: Pick<EventFilter, 'source' | 'tenant' | 'subscriber'>,
): Promise<number> {
  const found = (await registered(ledger)).filter(
    ({ subscriber, source, tenant }) =>
      subscriber !== null &&
      (query.source ?? source) === source &&
      (query.tenant ?? tenant) === tenant &&
      (query.subscriber ?? subscriber) === subscriber,
  )
  return Math.max(1, found.length)
}

function fieldsOf({
  type,
  object,
  error,
  q,
  key: _,
  limit: __,
  after: ___,
  before: ____,
  ...filter
}: EventQuery) {
  return {
    ...filter,
    state: filter.state ?? (error === undefined ? undefined : 'failed'),
    typeLike: type === undefined ? undefined : likePattern(type),
    objectId: object,
    textLike: q === undefined ? undefined : containing(q),
    error: error === undefined ? undefined : errorPattern(error),
  }
}

/** A fingerprint is compared exactly. */
export function errorPattern(error: string): string {
  return /^[0-9a-f]{16}$/.test(error) ? error : containing(error)
}

/**
 * The id of a receipt follows from tenant, source and key: one probe of the primary key for each
 * source.
 */
async function eventsWithKey(ledger: LedgerTables, key: string, query: EventQuery): Promise<EventRow[]> {
  const { error: _, ...fields } = fieldsOf(query)
  const ids = await idsOfKey(ledger, key, query)
  return readEventsById(ledger.pool, { ...fields, ids, shards: ledger.shards, limit: query.limit })
}

/** The events that `q` names exactly: by their key, or by the beginning of their id. */
async function eventsNamed(
  ledger: LedgerTables,
  q: string,
  query: EventQuery,
  minPrefix: number,
): Promise<EventRow[]> {
  const { error: _, textLike: __, ...fields } = fieldsOf(query)
  const ids = await idsOfKey(ledger, q, query)
  const range = q.replaceAll('-', '').length >= minPrefix ? idRange(q) : undefined
  return readEventsById(ledger.pool, {
    ...fields,
    ids,
    idRange: range,
    shards: ledger.shards,
    limit: query.limit,
  })
}

/** The places where an event may be found by one of its names. */
export type FindQuery = Pick<EventQuery, 'tenant' | 'source' | 'since' | 'limit'>

/**
 * The events with this receipt id, or an id that begins with it, or with this event key. If there
 * are none, the events about the object with this id, in the whole history or since a time. Newest
 * first.
 */
export async function findEvents(
  ledger: Ledgers,
  text: string,
  query: FindQuery,
): Promise<readonly EventRow[]> {
  const named = await namedEvents(ledger, text, query)
  if (named.length > 0) return named
  const found: EventRow[] = []
  let after: string | undefined
  do {
    const limit = query.limit - found.length
    const page = await listEvents(ledger, { ...query, object: text, limit, after })
    found.push(...page.events)
    after = page.next
  } while (after !== undefined && found.length < query.limit)
  return found
}

function namedIn(ledger: LedgerTables, text: string, query: FindQuery): Promise<readonly EventRow[]> {
  return eventsNamed(ledger, text, query, 1)
}

/** The events with this receipt id, or an id that begins with it, or with this event key. */
export const namedEvents = everywhere(namedIn, (all, [, { limit }]) =>
  sortedBy(all, (a, b) => compareLatestFirst(a.cursor, b.cursor), limit),
)

/** Shorter texts are more likely a part of a key than the beginning of an id. */
const MIN_ID_PREFIX = 8

async function idsOfKey(
  ledger: LedgerTables,
  key: string,
  { tenant, source }: EventQuery,
): Promise<string[]> {
  return (await registered(ledger))
    .filter((one) => one.subscriber === null)
    .filter((one) => (tenant ?? one.tenant) === one.tenant && (source ?? one.source) === one.source)
    .map((one) => receiptIds(one.tenant, one.source)(key))
}

/** The time of the event with this cursor. In lists by failure, the time of the failure. */
export function timeOfCursor(cursor: string): Date {
  return new Date(timePosition(cursor).at)
}
