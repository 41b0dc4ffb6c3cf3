import { type Queryable, rows, statement } from '../driver/statement.ts'

/* Counts along the index of leased jobs, so it costs as much as is in progress. */
const LIVE_WORKERS = statement(
  'live_workers',
  `select w.id, w.host, w.pid, w.started_at as "startedAt", w.lease_until as "leaseUntil",
     (select count(*)::float8 from generate_series(0, $1::integer - 1) n(shard)
      join hookonce.job j on j.shard = n.shard and j.worker = w.id and j.state = 'processing') as jobs
   from hookonce.worker w where w.dead_at is null and w.lease_until > now() order by w.id`,
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

/** Workers and relays whose lease lasts. */
export async function liveWorkers(db: Queryable, shards: number): Promise<LiveWorker[]> {
  return rows(db, LIVE_WORKERS, [shards])
}
