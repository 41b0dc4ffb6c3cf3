import type { Pool } from 'pg'
import { shardOf } from '../../model/receipt-id.ts'
import * as binary from '../driver/binary.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'
import type { JobRef } from './job-ref.ts'

/*
 * Lanes. All jobs of a lane are recorded waiting (due at infinity), numbered under the lock of
 * their lane: that is the order of their receipts. One of them at a time is let go, which makes it
 * due; from there on it is a job like any other, claimed, retried, rescued. While it is unfinished,
 * nothing else of its lane is let go.
 *
 * Whether the next may go is read from the jobs themselves, so passing on can be done by anybody,
 * twice, or late: after an accept, after a run, and by a chore for those whose process died in
 * between.
 */

const LOCK_LANES = statement(
  'lock_lanes',
  `select id from hookonce.lane where shard = $1::smallint and id = any($2::uuid[]) order by id for update`,
)

/*
 * Its own statement, because it needs a snapshot from after the lock: in one with it, a job that
 * was added or finished while the lock was waited for would be missed. A lane without jobs is gone.
 */
const LET_GO = statement(
  'let_go',
  `with lane as materialized (
     select l.id, w.shard, w.receipt_id, w.subscriber
     from unnest($2::uuid[]) l(id)
     left join lateral (
       select j.shard, j.receipt_id, j.subscriber from hookonce.job j
       where j.lane = l.id and j.lane is not null and j.state = 'received' and j.due_at = 'infinity'
       order by j.lane_seq limit 1
     ) w on true
     where not exists (
       select from hookonce.job j where j.lane = l.id and j.lane is not null
         and j.state in ('received', 'processing', 'retrying', 'attention') and j.due_at < 'infinity'
     )
   ), gone as (
     delete from hookonce.lane l using lane e where l.shard = $1::smallint and l.id = e.id and e.receipt_id is null
   )
   update hookonce.job j set due_at = now()
   from lane e where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
     and j.state = 'received' and j.due_at = 'infinity'
   returning j.receipt_id`,
)

/** Lets the next job of each lane go, where none is under way. Returns how many went. */
export async function passLanesOn({ pool, shards }: LedgerTables, lanes: Iterable<string>): Promise<number> {
  const byShard = new Map<number, string[]>()
  for (const lane of new Set(lanes)) {
    const shard = shardOf(lane, shards)
    byShard.set(shard, [...(byShard.get(shard) ?? []), lane])
  }
  let count = 0
  for (const [shard, ids] of byShard) count += await passOn(pool, shard, ids.sort())
  return count
}

function passOn(pool: Pool, shard: number, lanes: readonly string[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    const names = [shard, binary.uuids(lanes)]
    await rows(client, LOCK_LANES, names)
    const gone = await rows(client, LET_GO, names)
    await client.query('commit')
    return gone.length
  })
}

/*
 * A job that was made without a lane joins it under the lane's lock, and waits there in the order
 * of its receipt. Numbers of a lane begin at the clock, in microseconds, so the time of the receipt
 * is a place before every later one. Joining hands the job back: its run has not begun.
 */
const JOIN_LANE = statement(
  'join_lane',
  `with job as materialized (
     select j.receipt_id, j.subscriber, (extract(epoch from r.received_at) * 1000000)::bigint as seq
     from hookonce.job j
     join hookonce.receipt r on r.shard = $1::smallint and r.id = j.receipt_id
     where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.subscriber = $3::integer
       and j.fence = $4::integer and j.state = 'processing'
     for update of j
   ), lane as (
     insert into hookonce.lane as l (shard, id, seq, added)
     select $6::smallint, $5::uuid, greatest(seq, (extract(epoch from clock_timestamp()) * 1000000)::bigint), 0 from job
     on conflict (shard, id) do update set added = 0, seq = greatest(l.seq, (select seq from job))
   )
   update hookonce.job j
   set state = 'received', worker = null, attempt = j.attempt - 1, due_at = 'infinity', lane = $5::uuid, lane_seq = e.seq
   from job e where j.shard = $1::smallint and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber`,
)

/** False: the lease was lost before. */
export async function joinLane(
  db: Queryable,
  { shard, receiptId, subscriber, fence }: JobRef,
  { lane, shards }: { readonly lane: string; readonly shards: number },
): Promise<boolean> {
  const values = [shard, receiptId, subscriber, fence, lane, shardOf(lane, shards)]
  return (await change(db, JOIN_LANE, values)) === 1
}

/*
 * Lanes in which nothing is under way: whoever should have passed them on has died, or a person has
 * finished their job.
 */
const RESTING_LANES = statement(
  'resting_lanes',
  `select l.id from hookonce.lane l
   where l.shard = $1::smallint and not exists (
     select from hookonce.job j where j.lane = l.id and j.lane is not null
       and j.state in ('received', 'processing', 'retrying', 'attention') and j.due_at < 'infinity'
   )
   limit $2::integer`,
)

export async function restingLanes(db: Queryable, shard: number, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(db, RESTING_LANES, [shard, limit])
  return found.map(({ id }) => id)
}
