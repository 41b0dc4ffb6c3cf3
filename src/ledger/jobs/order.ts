import type { Pool } from 'pg'
import { shardOf } from '../../model/receipt-id.ts'
import * as binary from '../driver/binary.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { isDistributed, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'
import type { JobRef } from './job-ref.ts'
import { UNFINISHED } from './states.ts'

/*
 * Jobs with an order key run one at a time. In the database an order key is a `lane`: a row in
 * ledger.lane, and the columns `lane` and `lane_seq` of a job.
 *
 * All jobs of a key are recorded waiting (due at infinity), numbered under the lock of their key:
 * that is the order of their receipts. Releasing a job makes it due. From then on it is claimed,
 * retried and rescued like any other. While it is unfinished, no other job of its key is released.
 *
 * The state of the jobs alone decides whether the next may be released. So any process may release
 * it, twice or late: after an accept, after a run, and by a chore if a process died in between.
 */

const LOCK_KEYS = statement(
  'lock_order_keys',
  `select id from ledger.lane where shard = $1::smallint and id = any($2::uuid[]) order by id for update`,
)

/*
 * A separate statement, because it needs a snapshot from after the lock: the locking statement
 * would miss a job that was added or finished while it waited. A key without jobs is deleted.
 */
const RELEASE = statement(
  'let_go',
  `with lane as materialized (
     select l.id, w.shard, w.receipt_id, w.subscriber
     from unnest($2::uuid[]) l(id)
     left join lateral (
       select j.shard, j.receipt_id, j.subscriber from ledger.job j
       where j.lane = l.id and j.lane is not null and j.state = 'received' and j.due_at = 'infinity'
       order by j.lane_seq limit 1
     ) w on true
     where not exists (
       select from ledger.job j where j.lane = l.id and j.lane is not null
         and j.state in ${UNFINISHED} and j.due_at < 'infinity'
     )
   ), gone as (
     delete from ledger.lane l using lane e where l.shard = $1::smallint and l.id = e.id and e.receipt_id is null
   )
   update ledger.job j set due_at = now()
   from lane e where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
     and j.state = 'received' and j.due_at = 'infinity'
   returning j.receipt_id`,
)

/** Makes the next job of each key due, unless one is in progress. Returns how many became due. */
export async function releaseNextJobs(
  { pool, shards }: LedgerTables,
  orderKeys: Iterable<string>,
): Promise<number> {
  const byShard = new Map<number, string[]>()
  for (const orderKey of new Set(orderKeys)) {
    const shard = shardOf(orderKey, shards)
    byShard.set(shard, [...(byShard.get(shard) ?? []), orderKey])
  }
  let count = 0
  for (const [shard, keys] of byShard) count += await releaseInShard(pool, shard, keys.sort())
  return count
}

function releaseInShard(pool: Pool, shard: number, orderKeys: readonly string[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    const keys = [shard, binary.uuids(orderKeys)]
    await rows(client, LOCK_KEYS, keys)
    const released = await rows(client, RELEASE, keys)
    await client.query('commit')
    return released.length
  })
}

/*
 * Gives an order key to a job that was recorded without one. Under the lock of the key, the job
 * gets a place by the time of its receipt. Places of a key begin at the clock, in microseconds, so
 * that this place is before every later one. The job is handed back: its run has not begun.
 */
const JOIN = statement(
  'join_order_key',
  `with job as materialized (
     select j.receipt_id, j.subscriber, (extract(epoch from r.received_at) * 1000000)::bigint as seq
     from ledger.job j
     join ledger.receipt r on r.shard = $1::smallint and r.id = j.receipt_id
     where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.subscriber = $3::integer
       and j.fence = $4::integer and j.state = 'processing'
     for update of j
   ), lane as (
     insert into ledger.lane as l (shard, id, seq, added)
     select $6::smallint, $5::uuid, greatest(seq, (extract(epoch from clock_timestamp()) * 1000000)::bigint), 0 from job
     on conflict (shard, id) do update set added = 0, seq = greatest(l.seq, (select seq from job))
   )
   update ledger.job j
   set state = 'received', worker = null, attempt = j.attempt - 1, due_at = 'infinity', lane = $5::uuid, lane_seq = e.seq
   from job e where j.shard = $1::smallint and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber`,
  { only: 'plain' },
)

/* The same as three statements: see driver/shapes.ts. */
const LOCK_JOINING = statement(
  'lock_joining',
  `select (extract(epoch from r.received_at) * 1000000)::bigint as seq,
     (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock
   from ledger.job j
   join ledger.receipt r on r.shard = $1::smallint and r.id = j.receipt_id
   where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.subscriber = $3::integer
     and j.fence = $4::integer and j.state = 'processing'
   for update of j`,
)

const LOCK_JOINED = statement(
  'lock_joined_order_key',
  `insert into ledger.lane as l (shard, id, seq, added)
   values ($1::smallint, $2::uuid, greatest($3::bigint, $4::bigint), 0)
   on conflict (shard, id) do update set added = 0, seq = greatest(l.seq, $3::bigint)`,
)

const JOIN_ONLY = statement(
  'join_order_key_only',
  `update ledger.job
   set state = 'received', worker = null, attempt = attempt - 1, due_at = 'infinity', lane = $4::uuid, lane_seq = $5::bigint
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer`,
)

interface OrderKeyPlace {
  readonly orderKey: string
  readonly shards: number
}

function joinDistributed(db: Queryable, job: JobRef, { orderKey, shards }: OrderKeyPlace): Promise<boolean> {
  const key = [job.shard, job.receiptId, job.subscriber]
  return together(db, async (client) => {
    const [locked] = await rows<{ seq: string; clock: string }>(client, LOCK_JOINING, [...key, job.fence])
    if (!locked) return false
    await change(client, LOCK_JOINED, [shardOf(orderKey, shards), orderKey, locked.seq, locked.clock])
    return (await change(client, JOIN_ONLY, [...key, orderKey, locked.seq])) === 1
  })
}

/** False: the lease had been lost. */
export async function joinOrderKey(db: Queryable, job: JobRef, place: OrderKeyPlace): Promise<boolean> {
  if (isDistributed(db)) return joinDistributed(db, job, place)
  const { shard, receiptId, subscriber, fence } = job
  const { orderKey, shards } = place
  const values = [shard, receiptId, subscriber, fence, orderKey, shardOf(orderKey, shards)]
  return (await change(db, JOIN, values)) === 1
}

/*
 * Order keys without a released job: the process that should have released the next one died, or an
 * operator has finished the released one.
 */
const IDLE_KEYS = statement(
  'idle_order_keys',
  `select l.id from ledger.lane l
   where l.shard = $1::smallint and not exists (
     select from ledger.job j where j.lane = l.id and j.lane is not null
       and j.state in ${UNFINISHED} and j.due_at < 'infinity'
   )
   limit $2::integer`,
)

export async function idleOrderKeys(db: Queryable, shard: number, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(db, IDLE_KEYS, [shard, limit])
  return found.map(({ id }) => id)
}
