import { IMPORTED } from '../../model/reconciled.ts'
import { JOB_OUTCOME } from './job-outcome.ts'

/*
 * The parts of SQL that all lists of events share: order, columns and filters. Every statement has
 * the columns of its events in `matched`, and the end of its walk in `ending`. $6 to $14 are the
 * fields of the filter.
 */

export type WalkDirection = 'older' | 'newer'

/** How a direction is written in SQL. Positions are ordered by time, newest first, then by id. */
export interface DirectionSql {
  order(at: string, id: string): string
  /** Whether a row is beyond a position. */
  beyond(at: string, id: string, position: readonly [string, string]): string
}

export const DIRECTION_SQL: Readonly<Record<WalkDirection, DirectionSql>> = {
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

export const RECEIPT = `r.shard, r.id, r.received_at, r.tenant, r.source, r.event_key, r.event_type, r.object_id, r.secret`

/* The listed columns of the events in `matched`. */
export const page = (order: string): string => `
   select (select ${cursorOf('ending')} from ending) as "walkedTo", ${cursorOf('m')} as cursor,
     m.id, m.received_at as "receivedAt", m.tenant, m.source, m.event_key as "eventKey", m.event_type as "eventType",
     m.object_id as "objectId", coalesce(d.count, 0) as duplicates, coalesce(d.mismatches, 0) as mismatches,
     m.secret = ${IMPORTED} as imported, coalesce(jobs.states, '{}') as states, jobs.attempts
   from (select) page
   left join matched m on true
   left join ledger.duplicate d on d.shard = m.shard and d.receipt_id = m.id
   left join lateral (
     select array_agg(${JOB_OUTCOME('j')} order by j.subscriber) as states, max(j.attempt) as attempts
     from ledger.job j where j.shard = m.shard and j.receipt_id = m.id
   ) jobs on true
   order by ${order}`

/** Conditions on a receipt `w`. The same parameters in every statement below. */
export const RECEIPT_FILTER = `($6::text is null or w.tenant = $6::text) and ($7::text is null or w.source = $7::text)
       and ($12::text is null or w.event_type like $12::text) and ($13::text is null or w.object_id = $13::text)
       and ($14::text is null or w.event_key ilike $14::text or w.event_type ilike $14::text
         or w.object_id ilike $14::text)`

/* Not EXISTS: for that the planner may read every job first, and hash them. */
export const JOB_FILTER = `($8::text is null and $9::text is null or (
         select true from ledger.job j join ledger.subscriber b on b.id = j.subscriber
         where j.shard = w.shard and j.receipt_id = w.id
           and ($8::text is null or b.name = $8::text) and ($9::text is null or j.state::text = $9::text)
         limit 1))`

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
  /** Whether another system had processed the event before hookonce took over. */
  readonly imported: boolean
  /** The states of its jobs, one per subscriber. A processed job may be `stale` or `moved`. */
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

/** The start of a walk without a position: before all events. */
export const START: Readonly<Record<WalkDirection, EventPosition>> = {
  older: { at: 'infinity', id: '00000000-0000-0000-0000-000000000000' },
  newer: { at: '-infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
}

/** $6 to $14. */
export function fieldValues(fields: EventFields): unknown[] {
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

export function eventsOf(found: readonly { walkedTo: string | null; id: string | null }[]): EventRow[] {
  return found.filter(({ id }) => id !== null).map(({ walkedTo: _, ...event }) => event as EventRow)
}
