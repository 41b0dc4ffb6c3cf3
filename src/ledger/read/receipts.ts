import { type Queryable, rows, statement } from '../driver/statement.ts'
import { type EffectStory, effectsOfReceipt } from '../effects/effects.ts'
import { IS_SERVED } from '../jobs/served.ts'
import { type DecisionRow, decisionsOn } from './audit.ts'
import { idRange } from './id-prefix.ts'

/* What a person looks at. Plain reads: they lock nothing and may run on a replica. */

const LIST_EVENTS = statement(
  'list_events',
  `select r.id, r.received_at as "receivedAt", r.tenant, r.source, r.event_key as "eventKey", r.event_type as "eventType",
     r.object_id as "objectId", coalesce(d.count, 0) as duplicates, coalesce(d.mismatches, 0) as mismatches,
     coalesce(jobs.states, '{}') as states, jobs.attempts
   from (
     select latest.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select r.shard, r.id, r.received_at, r.tenant, r.source, r.event_key, r.event_type, r.object_id
       from hookonce.receipt r
       where r.shard = s.shard and ($3::text is null or r.source = $3::text)
       order by r.received_at desc limit $2::integer
     ) latest
     order by latest.received_at desc, latest.id limit $2::integer
   ) r
   left join hookonce.duplicate d on d.shard = r.shard and d.receipt_id = r.id
   left join lateral (
     -- Only a stale or moved job has a reason although it is processed.
     select array_agg(case when j.state <> 'processed' or j.reason is null then j.state::text
         when j.reason like 'MOVED to %' then 'moved' else 'stale' end
       order by j.subscriber) as states, max(j.attempt) as attempts
     from hookonce.job j where j.shard = r.shard and j.receipt_id = r.id
   ) jobs on true
   order by r.received_at desc, r.id`,
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
  /** Of its jobs, one a subscriber. */
  readonly states: readonly string[]
  readonly attempts: number | null
}

export interface EventQuestion {
  readonly shards: number
  readonly limit: number
  readonly source?: string | undefined
}

/** The latest events first. */
export async function listEvents(
  db: Queryable,
  { shards, limit, source }: EventQuestion,
): Promise<EventRow[]> {
  return rows(db, LIST_EVENTS, [shards, limit, source ?? null])
}

/* By full id or, as people type it, by the beginning of one. */
const FIND_RECEIPTS = statement(
  'find_receipts',
  `select r.shard, r.id, r.received_at as "receivedAt", r.occurred_at as "occurredAt", r.tenant, r.source,
     r.event_key as "eventKey", r.event_type as "eventType", r.object_id as "objectId", r.secret,
     encode(coalesce(r.body_sha256, sha256(r.body)), 'hex') as "bodySha256", r.headers, r.body,
     coalesce(r.received_at <= now() - s.body_seconds * interval '1 second', false) as "bodyExpired"
   from generate_series(0, $1::integer - 1) n(shard)
   join hookonce.receipt r on r.shard = n.shard and r.id between $2::uuid and $3::uuid
   left join hookonce.source s on s.tenant = r.tenant and s.name = r.source
   limit 2`,
)

export interface ReceiptRow {
  readonly shard: number
  readonly id: string
  readonly receivedAt: Date
  readonly occurredAt: Date | null
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | null
  readonly secret: number
  readonly bodySha256: string
  readonly headers: string | null
  readonly body: Buffer | null
  readonly bodyExpired: boolean
}

/** At most two: more than one means that the prefix is not enough. */
export async function findReceipts(db: Queryable, shards: number, idPrefix: string): Promise<ReceiptRow[]> {
  const range = idRange(idPrefix)
  return range ? rows(db, FIND_RECEIPTS, [shards, ...range]) : []
}

const RECEIPT_JOBS = statement(
  'receipt_jobs',
  `select s.name as subscriber, j.state::text as state, j.attempt, j.crashes, j.fence, j.born_at as "bornAt",
     nullif(j.due_at, 'infinity') as "dueAt", j.started_at as "startedAt", j.finished_at as "finishedAt", j.worker, j.reason
   from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
   where j.shard = $1::smallint and j.receipt_id = $2::uuid order by j.subscriber`,
)

export interface JobRow {
  readonly subscriber: string
  readonly state: string
  readonly attempt: number
  readonly crashes: number
  readonly fence: number
  readonly bornAt: Date
  /** Null: it waits for its turn in its lane. */
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly worker: number | null
  readonly reason: string | null
}

const RECEIPT_ATTEMPTS = statement(
  'receipt_attempts',
  `select s.name as subscriber, a.number, a.fence, a.started_at as "startedAt", a.ended_at as "endedAt", a.outcome, a.error
   from hookonce.attempt a join hookonce.subscriber s on s.id = a.subscriber
   where a.shard = $1::smallint and a.receipt_id = $2::uuid
   union all
   select s.name, j.attempt, j.fence, j.started_at, j.finished_at, j.state::text, null
   from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
   where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.state in ('processing', 'processed')
   order by 3, 1`,
)

export interface AttemptRow {
  readonly subscriber: string
  readonly number: number
  readonly fence: number
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly outcome: string
  readonly error: string | null
}

const RECEIPT_DUPLICATES = statement(
  'receipt_duplicates',
  `select count, mismatches, first_at as "firstAt", last_at as "lastAt"
   from hookonce.duplicate where shard = $1::smallint and receipt_id = $2::uuid`,
)

export interface DuplicateRow {
  readonly count: number
  readonly mismatches: number
  readonly firstAt: Date
  readonly lastAt: Date
}

export interface ReceiptStory {
  readonly jobs: readonly JobRow[]
  readonly attempts: readonly AttemptRow[]
  readonly duplicates: DuplicateRow | undefined
  /** That a job of it ran last. */
  readonly effects: readonly EffectStory[]
  readonly decisions: readonly DecisionRow[]
}

/** All that became of one receipt. */
export async function receiptStory(
  db: Queryable,
  shards: number,
  { shard, id, tenant }: Pick<ReceiptRow, 'shard' | 'id' | 'tenant'>,
): Promise<ReceiptStory> {
  const [jobs, attempts, duplicates, effects] = await Promise.all([
    rows<JobRow>(db, RECEIPT_JOBS, [shard, id]),
    rows<AttemptRow>(db, RECEIPT_ATTEMPTS, [shard, id]),
    rows<DuplicateRow>(db, RECEIPT_DUPLICATES, [shard, id]),
    effectsOfReceipt(db, shards, id),
  ])
  const decisions = await decisionsOn(db, tenant, [id, ...effects.map(({ key }) => key)])
  return { jobs, attempts, duplicates: duplicates[0], effects, decisions }
}

/*
 * Gauges. Each looks only at partial indexes of unfinished work, so their cost does not grow with
 * history.
 */
const BACKLOG = statement(
  'backlog',
  `select s.source, s.name as subscriber,
     sum(due.waiting)::float8 as waiting, sum(due.retrying)::float8 as retrying, sum(due.failed)::float8 as failed,
     sum(due.attention)::float8 as attention, sum(due.unknown)::float8 as "effectsUnknown",
     coalesce(extract(epoch from now() - min(due.oldest)), 0)::float8 as "lagSeconds",
     sum(case when s.is_served then 0 else due.waiting + due.retrying end)::float8 as unattended
   from (select s.id, s.source, s.name, ${IS_SERVED} as is_served from hookonce.subscriber s) s
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select count(*) filter (where j.state = 'received') as waiting,
       count(*) filter (where j.state = 'retrying') as retrying,
       0::bigint as failed, 0::bigint as attention, 0::bigint as unknown,
       min(j.due_at) filter (where j.due_at <= now()) as oldest
     from hookonce.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ('received', 'retrying')
     union all
     select 0, 0, count(*) filter (where j.state = 'failed'), count(*) filter (where j.state = 'attention'), 0, null
     from hookonce.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ('failed', 'attention')
     union all
     select 0, 0, 0, 0, count(*), null from hookonce.effect e
     where e.shard = n.shard and e.subscriber = s.id and e.state = 'unknown' and e.reopened_at is null
   ) due
   group by s.source, s.name`,
)

export interface Backlog {
  readonly source: string
  readonly subscriber: string
  readonly waiting: number
  readonly retrying: number
  readonly failed: number
  readonly attention: number
  readonly effectsUnknown: number
  /** Age of the oldest job that is due. */
  readonly lagSeconds: number
  /** Jobs that wait although no running worker serves their subscriber. */
  readonly unattended: number
}

export async function backlog(db: Queryable, shards: number): Promise<Backlog[]> {
  return rows(db, BACKLOG, [shards])
}
