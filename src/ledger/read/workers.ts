import { type Queryable, rows, statement } from '../driver/statement.ts'

/* Counts along the index of leased jobs, so its cost depends only on the jobs in progress. */
const LIVE_WORKERS = statement(
  'live_workers',
  `select w.id, w.host, w.pid, w.started_at as "startedAt", w.lease_until as "leaseUntil",
     (select count(*)::float8 from generate_series(0, $1::integer - 1) n(shard)
      join ledger.job j on j.shard = n.shard and j.worker = w.id and j.state = 'processing') as jobs
   from ledger.worker w where w.dead_at is null and w.lease_until > now() order by w.id`,
)

export interface LiveWorker {
  readonly id: number
  readonly host: string
  readonly pid: number
  readonly startedAt: Date
  readonly leaseUntil: Date
  /** Jobs that it runs now. */
  readonly jobs: number
}

/** Workers and relays whose lease is valid. */
export async function liveWorkers(db: Queryable, shards: number): Promise<LiveWorker[]> {
  return rows(db, LIVE_WORKERS, [shards])
}

/* The rows of dead workers are kept for a day, so these are few. */
const STRANDED = statement(
  'stranded_jobs',
  `select w.id, w.host, w.pid, w.started_at as "startedAt", w.lease_until as "leaseUntil",
     w.dead_at is not null and w.dead_at <= w.lease_until as "isCleanStop", held.jobs
   from ledger.worker w
   cross join lateral (
     select count(*)::float8 as jobs from generate_series(0, $1::integer - 1) n(shard)
     join ledger.job j on j.shard = n.shard and j.worker = w.id and j.state = 'processing'
   ) held
   where (w.dead_at is not null or w.lease_until <= now()) and held.jobs > 0
   order by w.id`,
)

/** A worker that has ended, and whose jobs no other worker has taken over yet. */
export interface StrandedWorker extends LiveWorker {
  /** Whether its process stopped by itself. False: it died, or its lease expired. */
  readonly isCleanStop: boolean
}

export async function strandedWorkers(db: Queryable, shards: number): Promise<StrandedWorker[]> {
  return rows(db, STRANDED, [shards])
}
