import { type Queryable, rows, statement } from '../driver/statement.ts'
import { NEEDS_OPERATOR } from '../jobs/states.ts'

/*
 * Recent changes, read along existing indexes: no trigger, and no cost for deliveries. Each read is
 * bounded per shard.
 */

export interface RecordedChange {
  readonly tenant: string
  readonly source: string
  readonly receiptId: string
  readonly eventKey: string
  readonly eventType: string
  readonly at: Date
}

/* Along `receipt_received`, the newest of each shard. */
const RECORDED = statement(
  'recorded_since',
  `select r.tenant, r.source, r.id as "receiptId", r.event_key as "eventKey", r.event_type as "eventType",
     r.received_at as at
   from generate_series(0, $1::integer - 1) s(shard)
   cross join lateral (
     select r.tenant, r.source, r.id, r.event_key, r.event_type, r.received_at from ledger.receipt r
     where r.shard = s.shard and r.received_at >= $2::timestamptz
     order by r.received_at desc limit $3::integer
   ) r
   order by r.received_at`,
)

export interface ChangeQuestion {
  readonly shards: number
  readonly since: Date
  /** Rows per part of an index. */
  readonly limit: number
}

/** The oldest first. */
export async function recordedSince(
  db: Queryable,
  { shards, since, limit }: ChangeQuestion,
): Promise<RecordedChange[]> {
  return rows(db, RECORDED, [shards, since, limit])
}

export interface JobChange {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  readonly state: string
  /** Distinguishes two times at which one job reached the same state. */
  readonly fence: number
  readonly attempt: number
  readonly reason: string | null
  readonly at: Date
}

const JOB = `s.tenant, s.source, s.name as subscriber, j.receipt_id as "receiptId", j.state::text as state, j.fence,
     j.attempt, left(j.reason, 300) as reason, coalesce(j.finished_at, j.started_at, j.born_at) as at`

/* Along `job_failed`. */
const STOPPED = statement(
  'stopped_since',
  `select ${JOB}
   from ledger.subscriber s
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select * from ledger.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR}
       and j.finished_at >= $2::timestamptz
     order by j.finished_at desc limit $3::integer
   ) j
   order by j.finished_at`,
)

/** Jobs that failed or wait for a person, the oldest first. */
export async function stoppedSince(
  db: Queryable,
  { shards, since, limit }: ChangeQuestion,
): Promise<JobChange[]> {
  return rows(db, STOPPED, [shards, since, limit])
}

/* Along the primary key. */
const JOBS_OF = statement(
  'jobs_of_receipts',
  `select ${JOB}
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.job j on j.shard = n.shard and j.receipt_id = any($2::uuid[])
   join ledger.subscriber s on s.id = j.subscriber`,
)

export async function jobsOfReceipts(
  db: Queryable,
  shards: number,
  receiptIds: readonly string[],
): Promise<JobChange[]> {
  return rows(db, JOBS_OF, [shards, receiptIds])
}

const NOW = statement('change_clock', `select clock_timestamp() as now`)

/** The server's clock, which dates everything. */
export async function ledgerClock(db: Queryable): Promise<Date> {
  const [row] = await rows<{ now: Date }>(db, NOW)
  if (!row) throw new Error('the ledger did not return its time')
  return row.now
}
