import type { FinishedState } from '../../model/job-state.ts'
import * as binary from '../driver/binary.ts'
import { NOT_PUSHED, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { HAS_PAYLOAD } from '../receipts/payload.ts'

/*
 * Replay on a distributed ledger, as several statements in one transaction: see driver/shapes.ts.
 * replay.ts explains what each of them is for.
 */

const HOLD = statement(
  'replay_hold',
  `select r.id from ledger.receipt r
   where r.shard = $1::smallint and r.id = any($2::uuid[]) and ${HAS_PAYLOAD}
   order by r.id
   for key share`,
)

const LOCK = statement(
  'replay_lock',
  `select j.receipt_id as "receiptId", j.subscriber from ledger.job j
   where j.shard = $1::smallint and j.receipt_id = any($2::uuid[])
     and j.state = any($4::ledger.job_state[])
     and ($3::integer[] is null or j.subscriber = any($3::integer[]))
   order by j.receipt_id, j.subscriber
   for update`,
)

const FINISHED = `unnest($2::uuid[], $3::integer[]) f(receipt_id, subscriber)`
const OF_FINISHED = `j.shard = $1::smallint and j.receipt_id = f.receipt_id and j.subscriber = f.subscriber`

const TELL = statement(
  'replay_tell',
  `insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome)
   select j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, j.finished_at, 'processed'
   from ledger.job j join ${FINISHED} on ${OF_FINISHED}
   where j.state = 'processed' and ${NOT_PUSHED}`,
)

const KEEP = statement(
  'replay_keep',
  `insert into ledger.step (shard, receipt_id, subscriber, fence, epoch, name)
   select j.shard, j.receipt_id, j.subscriber, j.fence, j.epoch, j.last_step
   from ledger.job j join ${FINISHED} on ${OF_FINISHED}
   where j.last_step is not null and ${NOT_PUSHED}
   on conflict (shard, receipt_id, subscriber, epoch, name) do nothing`,
)

const ORDER_KEYS = statement(
  'replay_order_keys',
  `insert into ledger.lane (shard, id, seq, added)
   select distinct (get_byte(uuid_send(j.lane), 0) % s.value)::smallint, j.lane,
     (extract(epoch from now()) * 1000000)::bigint, 0
   from ledger.job j join ${FINISHED} on ${OF_FINISHED}
   join ledger.setting s on s.name = 'shards'
   where j.lane is not null and ${NOT_PUSHED}
   on conflict (shard, id) do update set added = 0`,
)

const BEGIN_AGAIN = statement(
  'replay_begin_again',
  `with f as materialized (
     select i.*, now() as now from unnest($2::uuid[], $3::integer[]) i(receipt_id, subscriber)
   )
   update ledger.job j
   set state = 'received', attempt = 0, crashes = 0, born_at = f.now, finished_at = null, reason = null,
     due_at = case when j.lane is null then f.now else 'infinity' end,
     epoch = j.epoch + $4::integer, last_step = case when $4::integer = 0 then j.last_step end
   from f
   where ${OF_FINISHED}`,
)

export interface Replay {
  readonly shard: number
  readonly receiptIds: readonly string[]
  readonly subscribers: readonly number[] | undefined
  /** Replays only jobs still in these states: some may have finished since the plan. */
  readonly states: readonly FinishedState[]
  /** Begins a new epoch: steps and effects of earlier runs do not count. */
  readonly fresh?: boolean
}

/** Returns the number of replayed jobs. */
export function replayDistributed(db: Queryable, replay: Replay): Promise<number> {
  const { shard, receiptIds, subscribers, states, fresh } = replay
  return together(db, async (client) => {
    const held = await rows<{ id: string }>(client, HOLD, [shard, binary.uuids(receiptIds)])
    const locked = await rows<{ receiptId: string; subscriber: number }>(client, LOCK, [
      shard,
      binary.uuids(held.map(({ id }) => id)),
      subscribers ? binary.integers(subscribers) : null,
      states,
    ])
    if (locked.length === 0) return 0
    const jobs = [
      shard,
      binary.uuids(locked.map(({ receiptId }) => receiptId)),
      binary.integers(locked.map(({ subscriber }) => subscriber)),
    ]
    await change(client, TELL, jobs)
    if (!fresh) await change(client, KEEP, jobs)
    await change(client, ORDER_KEYS, jobs)
    return change(client, BEGIN_AGAIN, [...jobs, fresh ? 1 : 0])
  })
}
