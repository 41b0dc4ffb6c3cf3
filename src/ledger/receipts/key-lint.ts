import { type Queryable, rows, statement } from '../driver/statement.ts'

/**
 * Numbers about the event keys of each source, over its latest receipts. Computed on request: the
 * receiver counts nothing for it. Large bodies are not compared, because hashing them costs too
 * much.
 */
const KEY_NUMBERS = statement(
  'key_numbers',
  `with latest as (
     select r.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select r.shard, r.id, r.tenant, r.source, r.event_key, r.received_at,
         case when octet_length(r.body) between 3 and 65536 then md5(r.body) end as hash
       from ledger.receipt r where r.shard = s.shard
       order by r.received_at desc limit $2::integer
     ) r
   ),
   counted as (
     select l.*, coalesce(d.count, 0) as duplicates, coalesce(d.mismatches, 0) as mismatches,
       row_number() over (partition by l.tenant, l.source, l.hash order by l.received_at) as copy,
       row_number() over (partition by l.tenant, l.source order by coalesce(d.count, 0) desc) as rank
     from latest l left join ledger.duplicate d on d.shard = l.shard and d.receipt_id = l.id
   )
   select s.tenant, s.name as source,
     count(c.id)::float8 as receipts,
     coalesce(sum(c.duplicates), 0)::float8 as duplicates,
     coalesce(sum(c.mismatches), 0)::float8 as mismatches,
     count(*) filter (where c.mismatches > 0)::float8 as "mismatchedKeys",
     count(*) filter (where c.hash is not null and c.copy > 1)::float8 as "repeatedBodies",
     coalesce(max(1 + c.duplicates) filter (where c.rank = 1), 0)::float8 as "topDeliveries",
     coalesce(max(c.mismatches) filter (where c.rank = 1), 0)::float8 as "topMismatches",
     coalesce((select r.count from ledger.rejection r where r.source = s.name and r.code = 'EVENT_KEY_MISSING'), 0)::float8
       as missing
   from ledger.source s left join counted c on c.tenant = s.tenant and c.source = s.name
   group by s.tenant, s.name order by s.tenant, s.name`,
)

export interface KeyNumbers {
  readonly tenant: string
  readonly source: string
  readonly receipts: number
  /** Further deliveries of those receipts. */
  readonly duplicates: number
  /** Deliveries among them with a different body. */
  readonly mismatches: number
  readonly mismatchedKeys: number
  /** Receipts with the same body as an earlier receipt under another key. */
  readonly repeatedBodies: number
  /** Deliveries of the most frequent key. */
  readonly topDeliveries: number
  readonly topMismatches: number
  /** All deliveries that were refused because they had no key. */
  readonly missing: number
}

/** Per shard. Some thousand receipts in all: enough to detect a share of one percent. */
const LATEST_A_SHARD = 250

export async function keyNumbers(db: Queryable, shards: number): Promise<KeyNumbers[]> {
  return rows(db, KEY_NUMBERS, [shards, LATEST_A_SHARD])
}
