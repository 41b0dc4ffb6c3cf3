import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * The last applied version of each entity. It is locked during the business write, so that versions
 * are applied one at a time.
 */

export interface EntityId {
  readonly shard: number
  readonly id: string
  readonly tenant: string
  readonly name: string
}

export interface EntityVersion {
  readonly kind: string
  readonly version: string
  readonly deleted: boolean
}

const FIRST = statement(
  'first_version',
  `insert into ledger.entity (shard, id, tenant, name, kind, version, deleted)
   values ($1::smallint, $2::uuid, $3, $4, $5, $6, $7::boolean)
   on conflict (shard, id) do nothing
   returning 1`,
)

/** False: a version was applied before. Waits for a transaction that is applying the first one. */
export async function recordFirstVersion(
  db: Queryable,
  entity: EntityId,
  { kind, version, deleted }: EntityVersion,
): Promise<boolean> {
  const { shard, id, tenant, name } = entity
  return (await change(db, FIRST, [shard, id, tenant, name, kind, version, deleted])) === 1
}

const APPLIED = statement(
  'applied_version',
  `select kind, version, deleted from ledger.entity where shard = $1::smallint and id = $2::uuid for update`,
)

export async function lockVersion(db: Queryable, { shard, id }: EntityId): Promise<EntityVersion> {
  const [row] = await rows<EntityVersion>(db, APPLIED, [shard, id])
  if (!row) throw new Error(`entity ${id} no longer exists, although it did a moment ago`)
  return row
}

const APPLY = statement(
  'apply_version',
  `update ledger.entity set kind = $3, version = $4, deleted = $5::boolean, applied_at = now()
   where shard = $1::smallint and id = $2::uuid`,
)

export async function recordVersion(
  db: Queryable,
  { shard, id }: EntityId,
  { kind, version, deleted }: EntityVersion,
): Promise<void> {
  await change(db, APPLY, [shard, id, kind, version, deleted])
}
