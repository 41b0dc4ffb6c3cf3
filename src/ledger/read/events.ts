import { type Queryable, rows, statement } from '../driver/statement.ts'

/* A position in the list of events, with all digits of the time. */
const cursorOf = (row: string): string =>
  `to_char(${row}.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || ${row}.id`

/*
 * One page of events, newest first. Reads at most $2 receipts of each shard along the index of
 * arrival, whatever the filters leave of them, so that its cost does not grow with history. Where a
 * shard had more, the page is complete only down to the newest such end: `walkedTo`.
 */
const LIST_EVENTS = statement(
  'list_events',
  `with walked as materialized (
     select r.*, row_number() over (partition by r.shard order by r.received_at desc, r.id) as place
     from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select r.shard, r.id, r.received_at, r.tenant, r.source, r.event_key, r.event_type, r.object_id
       from hookonce.receipt r
       where r.shard = s.shard and r.received_at >= $10::timestamptz and r.received_at < $11::timestamptz
         and r.received_at <= $4::timestamptz and (r.received_at < $4::timestamptz or r.id > $5::uuid)
       order by r.received_at desc, r.id limit $2::integer
     ) r
   ), ending as materialized (
     select received_at, id from walked where place = $2::integer order by received_at desc, id limit 1
   ), matched as materialized (
     select w.* from walked w
     where not exists (
         select from ending e where w.received_at < e.received_at or (w.received_at = e.received_at and w.id > e.id))
       and ($6::text is null or w.tenant = $6::text) and ($7::text is null or w.source = $7::text)
       and ($12::text is null or w.event_type like $12::text)
       -- Not EXISTS: for that the planner may read every job first, and hash them.
       and ($8::text is null and $9::text is null or (
         select true from hookonce.job j join hookonce.subscriber b on b.id = j.subscriber
         where j.shard = w.shard and j.receipt_id = w.id
           and ($8::text is null or b.name = $8::text) and ($9::text is null or j.state::text = $9::text)
         limit 1))
     order by w.received_at desc, w.id limit $3::integer
   )
   select (select ${cursorOf('ending')} from ending) as "walkedTo", ${cursorOf('m')} as cursor,
     m.id, m.received_at as "receivedAt", m.tenant, m.source, m.event_key as "eventKey", m.event_type as "eventType",
     m.object_id as "objectId", coalesce(d.count, 0) as duplicates, coalesce(d.mismatches, 0) as mismatches,
     coalesce(jobs.states, '{}') as states, jobs.attempts
   from (select) page
   left join matched m on true
   left join hookonce.duplicate d on d.shard = m.shard and d.receipt_id = m.id
   left join lateral (
     -- A processed job has a reason only if it was stale or moved.
     select array_agg(case when j.state <> 'processed' or j.reason is null then j.state::text
         when j.reason like 'MOVED to %' then 'moved' else 'stale' end
       order by j.subscriber) as states, max(j.attempt) as attempts
     from hookonce.job j where j.shard = m.shard and j.receipt_id = m.id
   ) jobs on true
   order by m.received_at desc, m.id`,
)

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
  /** Of its jobs, one per subscriber. */
  readonly states: readonly string[]
  readonly attempts: number | null
  /** The event's position: a later page begins after it. */
  readonly cursor: string
}

export interface EventPosition {
  /** As PostgreSQL writes it, with microseconds. */
  readonly receivedAt: string
  readonly id: string
}

export interface EventQuestion {
  readonly shards: number
  /** How many receipts of each shard are read at most. */
  readonly walk: number
  readonly limit: number
  readonly after?: EventPosition | undefined
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  /** Events on which this subscriber has a job, if a state is given: in that state. */
  readonly subscriber?: string | undefined
  readonly state?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
}

export interface EventRows {
  readonly events: readonly EventRow[]
  /** Where reading stopped; undefined: at the oldest event. */
  readonly walkedTo: string | undefined
}

export async function readEvents(db: Queryable, question: EventQuestion): Promise<EventRows> {
  const found = await rows<{ walkedTo: string | null; id: string | null }>(db, LIST_EVENTS, [
    question.shards,
    question.walk,
    question.limit,
    question.after?.receivedAt ?? 'infinity',
    question.after?.id ?? '00000000-0000-0000-0000-000000000000',
    question.tenant ?? null,
    question.source ?? null,
    question.subscriber ?? null,
    question.state ?? null,
    question.since ?? '-infinity',
    question.until ?? 'infinity',
    question.typeLike ?? null,
  ])
  const events = found.filter(({ id }) => id !== null)
  return {
    events: events.map(({ walkedTo: _, ...event }) => event as EventRow),
    walkedTo: found[0]?.walkedTo ?? undefined,
  }
}
