import { type Queryable, rows, statement } from '../driver/statement.ts'
import { NEEDS_OPERATOR } from '../jobs/states.ts'
import {
  DIRECTION_SQL,
  type DirectionSql,
  type EventFields,
  type EventPosition,
  type EventRow,
  eventsOf,
  fieldValues,
  JOB_FILTER,
  page,
  RECEIPT,
  RECEIPT_FILTER,
  START,
  type WalkDirection,
} from './event-page.ts'
import { HAS_ERROR } from './failure-text.ts'

export type { EventRow }

/*
 * Pages of events. A page walks along an index from a position, in one of two directions: from
 * newer to older events, or back. It reads a bounded number of rows, whatever the filters leave of
 * them, so that its cost does not grow with history. Where a part of the index had more rows, the
 * page is complete only up to the nearest such end: `walkedTo`.
 */

const NEAREST_END = ({ order }: DirectionSql): string =>
  `select at, id from walked where place = $2::integer order by ${order('at', 'id')} limit 1`

const WITHIN_END = ({ beyond }: DirectionSql): string =>
  `not exists (select from ending e where ${beyond('w.at', 'w.id', ['e.at', 'e.id'])})`

/*
 * The walked rows up to the end, in the order of the list. The rows are looked up in this order, so
 * the limit of a page stops the lookups as soon as the page is full.
 */
const inOrder = (sql: DirectionSql): string =>
  `(select * from walked w where ${WITHIN_END(sql)} order by ${sql.order('w.at', 'w.id')})`

/* By arrival: along `receipt_received` of each shard. */
const byArrival = (sql: DirectionSql): string => `with walked as materialized (
     select r.*, row_number() over (partition by r.shard order by ${sql.order('r.at', 'r.id')}) as place
     from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select ${RECEIPT}, r.received_at as at
       from ledger.receipt r
       where r.shard = s.shard and r.received_at >= $10::timestamptz and r.received_at < $11::timestamptz
         and ${sql.beyond('r.received_at', 'r.id', ['$4::timestamptz', '$5::uuid'])}
       order by ${sql.order('r.received_at', 'r.id')} limit $2::integer
     ) r
   ), ending as materialized (${NEAREST_END(sql)}), matched as materialized (
     select w.* from ${inOrder(sql)} w
     where ${RECEIPT_FILTER} and ${JOB_FILTER}
     order by ${sql.order('w.at', 'w.id')} limit $3::integer
   )${page(sql.order('m.at', 'm.id'))}`

/*
 * By failure: along `job_failed` of each shard and subscriber, by the time of the failure. An event
 * with several such jobs is listed once, at its latest one. $15 is a pattern or a fingerprint of
 * the error. The state is compared after the walk: inside it, rare matches would make the planner
 * read all failures. A job fails after its event was received, so failures before $10 are not read;
 * the hour is for servers whose clocks differ.
 */
const byFailure = (sql: DirectionSql): string => `with walked as materialized (
     select j.*, row_number() over (partition by j.shard, j.subscriber order by ${sql.order('j.at', 'j.id')}) as place
     from ledger.subscriber s
     cross join generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select j.shard, j.subscriber, j.receipt_id as id, j.finished_at as at, j.reason, j.state
       from ledger.job j
       where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR}
         and j.finished_at >= $10::timestamptz - interval '1 hour'
         and ${sql.beyond('j.finished_at', 'j.receipt_id', ['$4::timestamptz', '$5::uuid'])}
       order by ${sql.order('j.finished_at', 'j.receipt_id')} limit $2::integer
     ) j
     where ($6::text is null or s.tenant = $6::text) and ($7::text is null or s.source = $7::text)
       and ($8::text is null or s.name = $8::text)
   ), ending as materialized (${NEAREST_END(sql)}), matched as materialized (
     select w.*, j.at from ${inOrder(sql)} j
     -- The limits keep the planner from reading all receipts or all jobs, to hash them.
     cross join lateral (
       select ${RECEIPT} from ledger.receipt r where r.shard = j.shard and r.id = j.id limit 1
     ) w
     where j.state::text = $9::text and ${HAS_ERROR('j.reason', '$15')} and ${RECEIPT_FILTER}
       and w.received_at >= $10::timestamptz and w.received_at < $11::timestamptz and (
         select true from ledger.job k join ledger.subscriber b on b.id = k.subscriber
         where k.shard = j.shard and k.receipt_id = j.id and k.state::text = $9::text
           and (k.finished_at, k.subscriber) > (j.at, j.subscriber)
           and ($8::text is null or b.name = $8::text) and ${HAS_ERROR('k.reason', '$15')}
         limit 1) is null
     order by ${sql.order('j.at', 'j.id')} limit $3::integer
   )${page(sql.order('m.at', 'm.id'))}`

const WALKS = {
  arrival: {
    older: statement('list_events', byArrival(DIRECTION_SQL.older)),
    newer: statement('list_events_back', byArrival(DIRECTION_SQL.newer)),
  },
  failure: {
    older: statement('list_failed_events', byFailure(DIRECTION_SQL.older)),
    newer: statement('list_failed_events_back', byFailure(DIRECTION_SQL.newer)),
  },
} as const

/** The order in which events are listed, and so the index that is walked. */
export type EventOrder = keyof typeof WALKS

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
