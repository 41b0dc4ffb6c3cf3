import * as binary from '../driver/binary.ts'
import { isDistributed, NOT_PUSHED, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { CLAIMABLE } from './states.ts'

/*
 * An operator discards the waiting jobs of a subscriber, or moves them to another subscriber. Each
 * statement takes a batch from one shard, and skips jobs that a worker is about to claim.
 */

const WAITING = `j.shard = $1::smallint and j.subscriber = $2::integer and j.state in ${CLAIMABLE}`

const DISCARD = statement(
  'discard_waiting',
  `with picked as materialized (
     select j.ctid as at from ledger.job j where ${WAITING}
     order by j.due_at limit $3::integer
     for update skip locked
   )
   update ledger.job j set state = 'failed', finished_at = now(), reason = $4::text
   where j.shard = $1::smallint and j.ctid = any(array(select at from picked))
   returning j.receipt_id as "receiptId", j.fence > 0 as "hasRun", false as "isContinued"`,
)

export interface WaitingBatch {
  readonly shard: number
  readonly subscriber: number
  readonly limit: number
  /** Kept with each job. */
  readonly reason: string
}

/** A job that was discarded or moved. */
export interface SettledJob {
  readonly receiptId: string
  /** The job ran before, so it may have called effects. */
  readonly hasRun: boolean
  /** The job of another subscriber continues it. */
  readonly isContinued: boolean
}

/** Fails waiting jobs. They can be replayed for as long as their bodies are kept. */
export async function discardWaiting(db: Queryable, batch: WaitingBatch): Promise<SettledJob[]> {
  return rows(db, DISCARD, [batch.shard, batch.subscriber, batch.limit, binary.storable(batch.reason)])
}

/*
 * The new job continues the old one: it takes over its epoch, its recorded steps and its fence. The
 * caller hands on its effects, which are in other shards. A subscriber that already has a job for
 * the event keeps that job. The old job ends as `processed`, with the reason. As `failed`, a replay
 * of all failed jobs would run it beside the new one.
 */
const MOVE = statement(
  'move_waiting',
  `with picked as materialized (
     select j.receipt_id, j.fence, j.epoch, j.last_step
     from ledger.job j
     join ledger.receipt r on r.shard = $1::smallint and r.id = j.receipt_id and r.event_type = any($6::text[])
     where ${WAITING} and (j.fence = 0 or $7::boolean)
     order by j.due_at limit $3::integer
     for update of j skip locked
   ), made as (
     insert into ledger.job (shard, receipt_id, subscriber, state, fence, epoch, last_step)
     select $1::smallint, p.receipt_id, $5::integer, 'received', p.fence, p.epoch, p.last_step from picked p
     order by p.receipt_id
     on conflict (shard, receipt_id, subscriber) do nothing
     returning receipt_id
   ), steps as (
     insert into ledger.step (shard, receipt_id, subscriber, epoch, name, at, fence, result, input_hash)
     select t.shard, t.receipt_id, $5::integer, t.epoch, t.name, t.at, t.fence, t.result, t.input_hash
     from ledger.step t
     where t.shard = $1::smallint and t.receipt_id = any(array(select receipt_id from made)) and t.subscriber = $2::integer
     on conflict (shard, receipt_id, subscriber, epoch, name) do nothing
   )
   update ledger.job j set state = 'processed', finished_at = now(), reason = $4::text
   where j.shard = $1::smallint and j.receipt_id = any(array(select receipt_id from picked)) and j.subscriber = $2::integer
   returning j.receipt_id as "receiptId", j.fence > 0 as "hasRun",
     j.receipt_id = any(array(select receipt_id from made)) as "isContinued"`,
  { only: 'plain' },
)

/* The same as four statements: see driver/shapes.ts. */
const PICK = statement(
  'pick_waiting',
  `select j.receipt_id as "receiptId", j.fence
   from ledger.job j
   join ledger.receipt r on r.shard = $1::smallint and r.id = j.receipt_id and r.event_type = any($4::text[])
   where ${WAITING} and (j.fence = 0 or $5::boolean)
   order by j.due_at limit $3::integer
   for update of j skip locked`,
)

const CONTINUE = statement(
  'continue_waiting',
  `insert into ledger.job (shard, receipt_id, subscriber, state, fence, epoch, last_step)
   select j.shard, j.receipt_id, $4::integer, 'received', j.fence, j.epoch, j.last_step
   from ledger.job j
   where j.shard = $1::smallint and j.subscriber = $2::integer and j.receipt_id = any($3::uuid[]) and ${NOT_PUSHED}
   order by j.receipt_id
   on conflict (shard, receipt_id, subscriber) do nothing
   returning receipt_id as "receiptId"`,
)

const COPY_STEPS = statement(
  'copy_steps',
  `insert into ledger.step (shard, receipt_id, subscriber, epoch, name, at, fence, result, input_hash)
   select t.shard, t.receipt_id, $4::integer, t.epoch, t.name, t.at, t.fence, t.result, t.input_hash
   from ledger.step t
   where t.shard = $1::smallint and t.subscriber = $2::integer and t.receipt_id = any($3::uuid[])
   on conflict (shard, receipt_id, subscriber, epoch, name) do nothing`,
)

const END_MOVED = statement(
  'end_moved',
  `update ledger.job set state = 'processed', finished_at = now(), reason = $4::text
   where shard = $1::smallint and subscriber = $2::integer and receipt_id = any($3::uuid[])`,
)

function moveDistributed(db: Queryable, move: Move): Promise<SettledJob[]> {
  const from = [move.shard, move.subscriber]
  return together(db, async (client) => {
    const picked = await rows<{ receiptId: string; fence: number }>(client, PICK, [
      ...from,
      move.limit,
      binary.texts(move.types),
      move.begun,
    ])
    const ids = binary.uuids(picked.map(({ receiptId }) => receiptId))
    const continued = await rows<{ receiptId: string }>(client, CONTINUE, [...from, ids, move.to])
    const made = new Set(continued.map(({ receiptId }) => receiptId))
    await change(client, COPY_STEPS, [...from, binary.uuids([...made]), move.to])
    await change(client, END_MOVED, [...from, ids, binary.storable(move.reason)])
    return picked.map(({ receiptId, fence }) => ({
      receiptId,
      hasRun: fence > 0,
      isContinued: made.has(receiptId),
    }))
  })
}

export interface Move extends WaitingBatch {
  /** The subscriber that gets the jobs. */
  readonly to: number
  /** Moves only events of these types. */
  readonly types: readonly string[]
  /** Also moves jobs that ran before. */
  readonly begun: boolean
}

export async function moveWaiting(db: Queryable, move: Move): Promise<SettledJob[]> {
  if (isDistributed(db)) return moveDistributed(db, move)
  return rows(db, MOVE, [
    move.shard,
    move.subscriber,
    move.limit,
    binary.storable(move.reason),
    move.to,
    binary.texts(move.types),
    move.begun,
  ])
}

const WAITING_TYPES = statement(
  'waiting_types',
  `select r.event_type as type, count(*)::float8 as jobs, count(*) filter (where j.fence > 0)::float8 as begun
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.job j on j.shard = n.shard and j.subscriber = $2::integer and j.state in ${CLAIMABLE}
   join ledger.receipt r on r.shard = j.shard and r.id = j.receipt_id
   group by r.event_type order by r.event_type`,
)

export interface WaitingType {
  readonly type: string
  readonly jobs: number
  /** The waiting jobs that ran before. */
  readonly begun: number
}

/** Counts the waiting jobs of a subscriber by event type. */
export async function waitingTypes(
  db: Queryable,
  shards: number,
  subscriber: number,
): Promise<WaitingType[]> {
  return rows(db, WAITING_TYPES, [shards, subscriber])
}
