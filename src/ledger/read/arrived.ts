import * as binary from '../driver/binary.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'

/* Which of a provider's events are in the ledger. */

/* Not EXISTS: for that the planner may read every receipt first, and hash them. */
const EXISTING_RECEIPTS = statement(
  'existing_receipts',
  `select i.id from unnest($1::smallint[], $2::uuid[]) i(shard, id)
   cross join lateral (select from ledger.receipt r where r.shard = i.shard and r.id = i.id limit 1) k`,
)

export interface ReceiptPlace {
  readonly shard: number
  readonly id: string
}

/** Returns the ids of those receipts that exist. */
export async function existingReceipts(
  db: Queryable,
  places: readonly ReceiptPlace[],
): Promise<ReadonlySet<string>> {
  if (places.length === 0) return new Set()
  const found = await rows<{ id: string }>(db, EXISTING_RECEIPTS, [
    binary.smallints(places.map(({ shard }) => shard)),
    binary.uuids(places.map(({ id }) => id)),
  ])
  return new Set(found.map(({ id }) => id))
}

/*
 * Walks the receipts since a time along the index of arrival, because there is no index of objects:
 * the cost is that of the window, not of the history.
 */
const KNOWN_OBJECTS = statement(
  'known_objects',
  `select r.object_id as "objectId", r.event_type as type,
     max(extract(epoch from coalesce(r.occurred_at, r.received_at)) * 1000)::float8 as "occurredAtMs"
   from generate_series(0, $1::integer - 1) s(shard)
   cross join lateral (
     select r.object_id, r.event_type, r.occurred_at, r.received_at from ledger.receipt r
     where r.shard = s.shard and r.received_at >= $2::timestamptz and r.tenant = $3 and r.source = $4
       and r.object_id = any($5::text[])
   ) r
   group by 1, 2`,
)

export interface KnownObject {
  readonly objectId: string
  readonly type: string
  /** The latest event of this type about the object. */
  readonly occurredAtMs: number
}

export interface ObjectQuestion {
  readonly shards: number
  readonly since: Date
  readonly tenant: string
  readonly source: string
  readonly objectIds: readonly string[]
}

/** The known events about these objects: one row for each object and event type. */
export async function knownObjects(
  db: Queryable,
  { shards, since, tenant, source, objectIds }: ObjectQuestion,
): Promise<KnownObject[]> {
  if (objectIds.length === 0) return []
  return rows(db, KNOWN_OBJECTS, [shards, since, tenant, source, objectIds])
}
