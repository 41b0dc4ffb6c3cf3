import type { Pool, PoolClient } from 'pg'
import * as binary from '../driver/binary.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { change, type Queryable, rows, type Statement, statement } from '../driver/statement.ts'
import { UNFINISHED } from '../jobs/states.ts'
import { HAS_PAYLOAD } from './payload.ts'

/*
 * Retention has two clocks: bodies are removed early, keys stay at least as long as any provider
 * can retry. Each sweep takes a small batch from one shard, and skips rows that another process is
 * sweeping. A receipt with unfinished jobs is kept, whatever its age.
 *
 * A sweep is two statements in one transaction. The first locks receipts that are due; the second
 * changes those that still have no unfinished job. The first may miss a replay that commits between
 * its snapshot and its lock; the second has a snapshot from after the lock. A replay locks its
 * receipts too, so no replay can follow.
 *
 * Rows are changed by their keys or by the place where they were locked. In a join, the planner
 * does not know how few they are and would read the whole shard.
 */

/** For the receipt `r`. A statement that revives a finished job locks its receipt first. */
const HAS_LIVE_JOBS = `exists (select from ledger.job j where j.shard = $1::smallint and j.receipt_id = r.id
         and j.state in ${UNFINISHED})`

const LOCK_BODIES = statement(
  'lock_bodies',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from ledger.sweep where shard = $1::smallint), '-infinity') as since
     from ledger.source
   )
   select r.id from ledger.receipt r
   where r.shard = $1::smallint
     and r.received_at >= (select since from clock) and r.received_at <= (select until from clock)
     and ${HAS_PAYLOAD}
     and not ${HAS_LIVE_JOBS}
   order by r.received_at limit $2::integer
   for update skip locked`,
)

const COUNT_BODIES = statement(
  'count_bodies',
  `select count(*)::integer as count from (
   select from ledger.receipt r
   where r.shard = $1::smallint
     and r.received_at >= coalesce((select bodies_swept_to from ledger.sweep where shard = $1::smallint), '-infinity')
     and r.received_at <= (select now() - max(body_seconds) * interval '1 second' from ledger.source)
     and ${HAS_PAYLOAD}
     and not ${HAS_LIVE_JOBS}
   limit $2::integer) due`,
)

/** How many bodies of a shard are due, up to `limit`. */
export function countBodies(db: Queryable, shard: number, limit: number): Promise<number> {
  return counted(db, COUNT_BODIES, [shard, limit])
}

async function counted(db: Queryable, count: Statement, values: unknown[]): Promise<number> {
  const [row] = await rows<{ count: number }>(db, count, values)
  return row?.count ?? 0
}

const SWEEP_BODIES = statement(
  'sweep_bodies',
  `update ledger.receipt r
   set body_sha256 = coalesce(r.body_sha256, sha256(r.body)), body = null, headers = null, sealed = null
   where r.shard = $1::smallint and r.id = any($2::uuid[]) and ${HAS_PAYLOAD} and not ${HAS_LIVE_JOBS}`,
)

/** Returns the number of removed bodies. */
export function sweepBodies(pool: Pool, shard: number, limit: number): Promise<number> {
  return sweep(pool, async (client) => {
    const ids = await lockBodies(client, shard, limit)
    return ids.length === 0 ? 0 : dropBodies(client, shard, ids)
  })
}

export async function lockBodies(db: Queryable, shard: number, limit: number): Promise<string[]> {
  return idsOf(await rows<{ id: string }>(db, LOCK_BODIES, [shard, limit]))
}

export async function dropBodies(db: Queryable, shard: number, ids: readonly string[]): Promise<number> {
  return change(db, SWEEP_BODIES, [shard, binary.uuids(ids)])
}

function sweep(pool: Pool, work: (client: PoolClient) => Promise<number>): Promise<number> {
  return inTransaction(pool, async (client) => {
    const count = await work(client)
    await client.query('commit')
    return count
  })
}

function idsOf(found: readonly { readonly id: string }[]): string[] {
  return found.map(({ id }) => id)
}

/*
 * The oldest body that still exists, or the end of the retention if there is none. Not part of the
 * sweep, because a statement does not see its own changes. Apart from the INSERT: see NOT_PUSHED in
 * driver/shapes.ts.
 */
const SWEPT_TO = statement(
  'swept_to',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from ledger.sweep where shard = $1::smallint), '-infinity') as since
     from ledger.source
   )
   select coalesce(
     (select r.received_at from ledger.receipt r
      where r.shard = $1::smallint and r.received_at >= (select since from clock)
        and r.received_at <= (select until from clock) and ${HAS_PAYLOAD}
      order by r.received_at limit 1), until)::text as mark
   from clock where until is not null`,
)

const MARK_SWEPT = statement(
  'mark_swept',
  `insert into ledger.sweep (shard, bodies_swept_to) values ($1::smallint, $2::timestamptz)
   on conflict (shard) do update set bodies_swept_to = excluded.bodies_swept_to`,
)

/** Moves the mark, from which the next sweep of bodies continues. */
export async function markBodiesSwept(db: Queryable, shard: number): Promise<void> {
  const [swept] = await rows<{ mark: string }>(db, SWEPT_TO, [shard])
  if (swept) await change(db, MARK_SWEPT, [shard, swept.mark])
}

const LOCK_KEYS = statement(
  'lock_keys',
  `select r.id from ledger.receipt r
   where r.shard = $1::smallint
     and r.received_at <= (select now() - max(key_seconds) * interval '1 second' from ledger.source)
     and not ${HAS_LIVE_JOBS}
   order by r.received_at limit $2::integer
   for update skip locked`,
)

const COUNT_KEYS = statement(
  'count_keys',
  `select count(*)::integer as count from (
   select from ledger.receipt r
   where r.shard = $1::smallint
     and r.received_at <= (select now() - max(key_seconds) * interval '1 second' from ledger.source)
     and not ${HAS_LIVE_JOBS}
   limit $2::integer) due`,
)

/** How many receipts of a shard are due, up to `limit`. */
export function countKeys(db: Queryable, shard: number, limit: number): Promise<number> {
  return counted(db, COUNT_KEYS, [shard, limit])
}

const SWEEP_KEYS = statement(
  'sweep_keys',
  `with due as materialized (
     select r.id from ledger.receipt r
     where r.shard = $1::smallint and r.id = any($2::uuid[]) and not ${HAS_LIVE_JOBS}
   ), jobs as (
     delete from ledger.job where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), attempts as (
     delete from ledger.attempt where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), steps as (
     delete from ledger.step where shard = $1::smallint and receipt_id = any(array(select id from due))
   ), duplicates as (
     delete from ledger.duplicate where shard = $1::smallint and receipt_id = any(array(select id from due))
   )
   delete from ledger.receipt where shard = $1::smallint and id = any(array(select id from due))`,
)

/**
 * Returns the number of removed receipts. Their jobs, attempts, steps and duplicates are removed
 * too.
 */
export function sweepKeys(pool: Pool, shard: number, limit: number): Promise<number> {
  return sweep(pool, async (client) => {
    const ids = await lockKeys(client, shard, limit)
    return ids.length === 0 ? 0 : dropReceipts(client, shard, ids)
  })
}

export async function lockKeys(db: Queryable, shard: number, limit: number): Promise<string[]> {
  return idsOf(await rows<{ id: string }>(db, LOCK_KEYS, [shard, limit]))
}

/** Deletes those receipts that have no unfinished job. The caller must have locked them. */
export async function dropReceipts(db: Queryable, shard: number, ids: readonly string[]): Promise<number> {
  return change(db, SWEEP_KEYS, [shard, binary.uuids(ids)])
}
