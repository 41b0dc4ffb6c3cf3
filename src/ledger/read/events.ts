import { type Queryable, rows, statement } from '../driver/statement.ts'
import { NEEDS_OPERATOR } from '../jobs/states.ts'
import { HAS_ERROR } from './failure-text.ts'

/*
 * Pages of events. A page walks along an index from a position, in one of two directions: from
 * newer to older events, or back. It reads a bounded number of rows, whatever the filters leave of
 * them, so that its cost does not grow with history. Where a part of the index had more rows, the
 * page is complete only up to the nearest such end: `walkedTo`.
 */

export type WalkDirection = 'older' | 'newer'

/** How a direction is written in SQL. Positions are ordered by time, newest first, then by id. */
interface Spelling {
  order(at: string, id: string): string
  /** Whether a row is beyond a position. */
  beyond(at: string, id: string, position: readonly [string, string]): string
}

const SPELLINGS: Readonly<Record<WalkDirection, Spelling>> = {
  older: {
    order: (at, id) => `${at} desc, ${id}`,
    // The first comparison bounds the index scan; the second is for rows of the same time.
    beyond: (at, id, [time, other]) => `${at} <= ${time} and (${at} < ${time} or ${id} > ${other})`,
  },
  newer: {
    order: (at, id) => `${at}, ${id} desc`,
    beyond: (at, id, [time, other]) => `${at} >= ${time} and (${at} > ${time} or ${id} < ${other})`,
  },
}

/* A position in the list of events, with all digits of the time. */
const cursorOf = (row: string): string =>
  `to_char(${row}.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || ${row}.id`

const RECEIPT = `r.shard, r.id, r.received_at, r.tenant, r.source, r.event_key, r.event_type, r.object_id`

const NEAREST_END = ({ order }: Spelling): string =>
  `select at, id from walked where place = $2::integer order by ${order('at', 'id')} limit 1`

const WITHIN_END = ({ beyond }: Spelling): string =>
  `not exists (select from ending e where ${beyond('w.at', 'w.id', ['e.at', 'e.id'])})`

/* The listed columns of the events in `matched`. */
const page = (order: string): string => `
   select (select ${cursorOf('ending')} from ending) as "walkedTo", ${cursorOf('m')} as cursor,
     m.id, m.received_at as "receivedAt", m.tenant, m.source, m.event_key as "eventKey", m.event_type as "eventType",
     m.object_id as "objectId", coalesce(d.count, 0) as duplicates, coalesce(d.mismatches, 0) as mismatches,
     coalesce(jobs.states, '{}') as states, jobs.attempts
   from (select) page
   left join matched m on true
   left join ledger.duplicate d on d.shard = m.shard and d.receipt_id = m.id
   left join lateral (
     -- A processed job has a reason only if it was stale or moved.
     select array_agg(case when j.state <> 'processed' or j.reason is null then j.state::text
         when j.reason like 'MOVED to %' then 'moved' else 'stale' end
       order by j.subscriber) as states, max(j.attempt) as attempts
     from ledger.job j where j.shard = m.shard and j.receipt_id = m.id
   ) jobs on true
   order by ${order}`

/** Conditions on a receipt `w`. The same parameters in every statement below. */
const RECEIPT_FILTER = `($6::text is null or w.tenant = $6::text) and ($7::text is null or w.source = $7::text)
       and ($12::text is null or w.event_type like $12::text) and ($13::text is null or w.object_id = $13::text)
       and ($14::text is null or w.event_key ilike $14::text or w.event_type ilike $14::text
         or w.object_id ilike $14::text)`

/* Not EXISTS: for that the planner may read every job first, and hash them. */
const JOB_FILTER = `($8::text is null and $9::text is null or (
         select true from ledger.job j join ledger.subscriber b on b.id = j.subscriber
         where j.shard = w.shard and j.receipt_id = w.id
           and ($8::text is null or b.name = $8::text) and ($9::text is null or j.state::text = $9::text)
         limit 1))`

/* By arrival: along `receipt_received` of each shard. */
const byArrival = (spelling: Spelling): string => `with walked as materialized (
     select r.*, row_number() over (partition by r.shard order by ${spelling.order('r.at', 'r.id')}) as place
     from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select ${RECEIPT}, r.received_at as at
       from ledger.receipt r
       where r.shard = s.shard and r.received_at >= $10::timestamptz and r.received_at < $11::timestamptz
         and ${spelling.beyond('r.received_at', 'r.id', ['$4::timestamptz', '$5::uuid'])}
       order by ${spelling.order('r.received_at', 'r.id')} limit $2::integer
     ) r
   ), ending as materialized (${NEAREST_END(spelling)}), matched as materialized (
     select w.* from walked w
     where ${WITHIN_END(spelling)} and ${RECEIPT_FILTER} and ${JOB_FILTER}
     order by ${spelling.order('w.at', 'w.id')} limit $3::integer
   )${page(spelling.order('m.at', 'm.id'))}`

/*
 * By failure: along `job_failed` of each shard and subscriber, by the time of the failure. An event
 * with several such jobs is listed once, at its latest one. $15 is a pattern or a fingerprint of
 * the error.
 */
const byFailure = (spelling: Spelling): string => `with walked as materialized (
     select j.*, row_number() over (partition by j.shard, j.subscriber order by ${spelling.order('j.at', 'j.id')}) as place
     from ledger.subscriber s
     cross join generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select j.shard, j.subscriber, j.receipt_id as id, j.finished_at as at, j.reason
       from ledger.job j
       where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR}
         and j.state = $9::text::ledger.job_state
         and ${spelling.beyond('j.finished_at', 'j.receipt_id', ['$4::timestamptz', '$5::uuid'])}
       order by ${spelling.order('j.finished_at', 'j.receipt_id')} limit $2::integer
     ) j
     where ($6::text is null or s.tenant = $6::text) and ($7::text is null or s.source = $7::text)
       and ($8::text is null or s.name = $8::text)
   ), ending as materialized (${NEAREST_END(spelling)}), matched as materialized (
     select w.* from (
       select r.*, j.at from walked j
       -- The limits keep the planner from reading all receipts or all jobs, to hash them.
       cross join lateral (
         select ${RECEIPT} from ledger.receipt r where r.shard = j.shard and r.id = j.id limit 1
       ) r
       where ${HAS_ERROR('j.reason', '$15')} and (
         select true from ledger.job k join ledger.subscriber b on b.id = k.subscriber
         where k.shard = j.shard and k.receipt_id = j.id and k.state::text = $9::text
           and (k.finished_at, k.subscriber) > (j.at, j.subscriber)
           and ($8::text is null or b.name = $8::text) and ${HAS_ERROR('k.reason', '$15')}
         limit 1) is null
     ) w
     where ${WITHIN_END(spelling)} and ${RECEIPT_FILTER}
       and w.received_at >= $10::timestamptz and w.received_at < $11::timestamptz
     order by ${spelling.order('w.at', 'w.id')} limit $3::integer
   )${page(spelling.order('m.at', 'm.id'))}`

const WALKS = {
  arrival: {
    older: statement('list_events', byArrival(SPELLINGS.older)),
    newer: statement('list_events_back', byArrival(SPELLINGS.newer)),
  },
  failure: {
    older: statement('list_failed_events', byFailure(SPELLINGS.older)),
    newer: statement('list_failed_events_back', byFailure(SPELLINGS.newer)),
  },
} as const

/** The order in which events are listed, and so the index that is walked. */
export type EventOrder = keyof typeof WALKS

export interface EventRow {
  readonly id: string
  readonly receivedAt: Date
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | null
  readonly duplicates: number
  readonly mismatches: number
  /** The states of its jobs, one per subscriber. */
  readonly states: readonly string[]
  readonly attempts: number | null
  /** The event's position, after which another page can begin. */
  readonly cursor: string
}

export interface EventPosition {
  /** In PostgreSQL's format, with microseconds. */
  readonly at: string
  readonly id: string
}

export interface EventFields {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  /** Events on which this subscriber has a job, if a state is given: in that state. */
  readonly subscriber?: string | undefined
  readonly state?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
  readonly objectId?: string | undefined
  /** A pattern of LIKE, without regard to case, on event key, type and object. */
  readonly textLike?: string | undefined
}

export interface EventQuestion extends EventFields {
  readonly order: EventOrder
  readonly direction: WalkDirection
  readonly shards: number
  /** The maximum number of rows that are read from each part of the index. */
  readonly walk: number
  readonly limit: number
  readonly from?: EventPosition | undefined
  /** In the order `failure`: a pattern of LIKE, or a fingerprint. */
  readonly error?: string | undefined
}

export interface EventRows {
  /** In the direction of the walk. */
  readonly events: readonly EventRow[]
  /** Where reading stopped; undefined: it reached the last event in this direction. */
  readonly walkedTo: string | undefined
}

/** The start of a walk without a position: before all events. */
const START: Readonly<Record<WalkDirection, EventPosition>> = {
  older: { at: 'infinity', id: '00000000-0000-0000-0000-000000000000' },
  newer: { at: '-infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
}

export async function readEvents(db: Queryable, question: EventQuestion): Promise<EventRows> {
  const { order, direction, from = START[direction] } = question
  const values = [question.shards, question.walk, question.limit, from.at, from.id, ...fieldValues(question)]
  if (order === 'failure') values.push(question.error ?? null)
  const found = await rows<{ walkedTo: string | null; id: string | null }>(
    db,
    WALKS[order][direction],
    values,
  )
  return { events: eventsOf(found), walkedTo: found[0]?.walkedTo ?? undefined }
}

/** $6 to $14. */
function fieldValues(fields: EventFields): unknown[] {
  return [
    fields.tenant ?? null,
    fields.source ?? null,
    fields.subscriber ?? null,
    fields.state ?? null,
    fields.since ?? '-infinity',
    fields.until ?? 'infinity',
    fields.typeLike ?? null,
    fields.objectId ?? null,
    fields.textLike ?? null,
  ]
}

function eventsOf(found: readonly { walkedTo: string | null; id: string | null }[]): EventRow[] {
  return found.filter(({ id }) => id !== null).map(({ walkedTo: _, ...event }) => event as EventRow)
}

/* By id: along the primary key. $2 to $5 are ids, and the first and last id of a prefix. */
const EVENTS_BY_ID = statement(
  'events_by_id',
  `with ending as (select null::timestamptz as at, null::uuid as id where false), named as materialized (
     select ${RECEIPT}, r.received_at as at from generate_series(0, $1::integer - 1) n(shard)
     join ledger.receipt r on r.shard = n.shard and r.id = any($2::uuid[])
     union
     select ${RECEIPT}, r.received_at as at from generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select * from ledger.receipt r where r.shard = n.shard and r.id between $4::uuid and $5::uuid
       order by r.id limit $3::integer
     ) r
   ), matched as materialized (
     select w.* from named w
     where ${RECEIPT_FILTER} and ${JOB_FILTER}
       and w.received_at >= $10::timestamptz and w.received_at < $11::timestamptz
     order by w.at desc, w.id limit $3::integer
   )${page('m.at desc, m.id')}`,
)

export interface NamedEvents extends EventFields {
  readonly shards: number
  readonly limit: number
  readonly ids: readonly string[]
  /** Also finds the events with an id in this range. */
  readonly idRange?: readonly [string, string] | undefined
}

/** The newest first. */
export async function readEventsById(db: Queryable, question: NamedEvents): Promise<EventRow[]> {
  const range = question.idRange ?? [null, null]
  const values = [question.shards, question.ids, question.limit, ...range, ...fieldValues(question)]
  return eventsOf(await rows(db, EVENTS_BY_ID, values))
}
