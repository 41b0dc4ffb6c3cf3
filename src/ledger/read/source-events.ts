import { type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * The latest event of each source and secret, among the newest receipts of each shard. Bounded, so
 * it may miss a quiet source beside a busy one.
 */
const LATEST = statement(
  'latest_of_sources',
  `select distinct on (r.tenant, r.source, r.secret) r.tenant, r.source, r.secret, r.id, r.received_at as "receivedAt",
     r.event_type as "eventType"
   from generate_series(0, $1::integer - 1) s(shard)
   cross join lateral (
     select tenant, source, secret, id, received_at, event_type from ledger.receipt r
     where r.shard = s.shard order by r.received_at desc limit $2::integer
   ) r
   order by r.tenant, r.source, r.secret, r.received_at desc`,
)

export interface LatestEvent {
  readonly tenant: string
  readonly source: string
  /** Which of the source's secrets matched, by position from 1. */
  readonly secret: number
  readonly id: string
  readonly receivedAt: Date
  readonly eventType: string
}

export async function latestOfSources(
  db: Queryable,
  shards: number,
  perShard: number,
): Promise<LatestEvent[]> {
  return rows(db, LATEST, [shards, perShard])
}
