import * as binary from '../driver/binary.ts'
import { isDistributed } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { HAS_ERROR } from '../read/failure-text.ts'
import { HAS_PAYLOAD } from '../receipts/payload.ts'
import { type Replay, replayDistributed } from './replay-distributed.ts'
import { NEEDS_OPERATOR } from './states.ts'

export type { Replay }

/*
 * Replay: a finished job becomes `received` again. Its counters return to zero, its fence stays.
 * The successful run is copied to `attempt` first, because its row in `job` is reused. The step
 * that completed the job is copied to `step`, because the next completion may overwrite it. The
 * receipt is locked first, so no sweep can remove it (retention.ts). A receipt without a body is
 * not replayed.
 */
const REPLAY = statement(
  'replay',
  `with held as materialized (
     select r.id from ledger.receipt r
     where r.shard = $1::smallint and r.id = any($2::uuid[]) and ${HAS_PAYLOAD}
     order by r.id
     for key share
   ), finished as materialized (
     select j.receipt_id, j.subscriber from ledger.job j
     where j.shard = $1::smallint and j.receipt_id = any(array(select id from held))
       and j.state = any($4::ledger.job_state[])
       and ($3::integer[] is null or j.subscriber = any($3::integer[]))
     order by j.receipt_id, j.subscriber
     for update
   ), told as (
     insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome)
     select j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, j.finished_at, 'processed'
     from ledger.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.state = 'processed'
   ), kept as (
     insert into ledger.step (shard, receipt_id, subscriber, fence, epoch, name)
     select j.shard, j.receipt_id, j.subscriber, j.fence, j.epoch, j.last_step
     from ledger.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.last_step is not null and $5::integer = 0
     on conflict (shard, receipt_id, subscriber, epoch, name) do nothing
   ), lanes as (
     -- Creates the row of the order key if it was deleted. Otherwise the update locks the row, so that
     -- no process deletes it on a snapshot without this job.
     insert into ledger.lane (shard, id, seq, added)
     select distinct (get_byte(uuid_send(j.lane), 0) % (select value from ledger.setting where name = 'shards'))::smallint,
       j.lane, (extract(epoch from now()) * 1000000)::bigint, 0
     from ledger.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.lane is not null
     on conflict (shard, id) do update set added = 0
   )
   update ledger.job j
   set state = 'received', attempt = 0, crashes = 0, born_at = now(), finished_at = null, reason = null,
     due_at = case when j.lane is null then now() else 'infinity' end,
     epoch = j.epoch + $5::integer, last_step = case when $5::integer = 0 then j.last_step end
   from finished f
   where j.shard = $1::smallint and j.receipt_id = f.receipt_id and j.subscriber = f.subscriber`,
  { only: 'plain' },
)

/** Returns the number of replayed jobs. */
export async function replayJobs(db: Queryable, replay: Replay): Promise<number> {
  if (isDistributed(db)) return replayDistributed(db, replay)
  return change(db, REPLAY, [
    replay.shard,
    binary.uuids(replay.receiptIds),
    replay.subscribers ? binary.integers(replay.subscribers) : null,
    replay.states,
    replay.fresh ? 1 : 0,
  ])
}

/* A subscriber that was added after the receipt was recorded has no job for it yet. */
const ADD_MISSING = statement(
  'add_missing_jobs',
  `with held as materialized (
     select r.shard, r.id from ledger.receipt r
     where r.shard = $1::smallint and r.id = $2::uuid and ${HAS_PAYLOAD}
     for key share
   )
   insert into ledger.job (shard, receipt_id, subscriber, state)
   select h.shard, h.id, unnest($3::integer[]), 'received' from held h
   on conflict (shard, receipt_id, subscriber) do nothing`,
)

export async function addMissingJobs(
  db: Queryable,
  replay: { shard: number; receiptId: string; subscribers: readonly number[] },
): Promise<number> {
  return change(db, ADD_MISSING, [replay.shard, replay.receiptId, binary.integers(replay.subscribers)])
}

/*
 * Failed jobs that can be replayed, oldest first. The oldest failures may have lost their bodies,
 * which are kept for a shorter time than keys. Others lost the key of their payload. Both are
 * skipped before the limit is applied.
 */
const FAILED = statement(
  'failed_jobs',
  `select j.receipt_id as "receiptId", j.subscriber, s.tenant, s.source, s.name, j.reason
   from ledger.subscriber s
   join ledger.source o on o.tenant = s.tenant and o.name = s.source
   cross join lateral (
     select j.receipt_id, j.subscriber, j.reason, j.finished_at
     from ledger.job j
     join ledger.receipt r on r.shard = $1::smallint and r.id = j.receipt_id and ${HAS_PAYLOAD}
       and (r.data_key is null
         or exists (select from ledger.data_key k where k.id = r.data_key and k.wrapped is not null))
       and r.received_at > now() - o.body_seconds * interval '1 second'
     where j.shard = $1::smallint and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR} and j.state = 'failed'
       and ($4::timestamptz is null or j.finished_at >= $4::timestamptz)
       and ($7::timestamptz is null or j.finished_at < $7::timestamptz)
       and ($8::text is null or r.event_type like $8::text) and ${HAS_ERROR('j.reason', '$9')}
     order by j.finished_at limit $5::integer
   ) j
   where ($2::text is null or s.source = $2::text) and ($3::text is null or s.name = $3::text)
     and ($6::text is null or s.tenant = $6::text)
   order by j.finished_at limit $5::integer`,
)

export interface FailedQuestion {
  readonly shard: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
  /** A pattern of LIKE, or a fingerprint. */
  readonly error?: string | undefined
  /** Limits on the time of the failure. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly limit: number
}

export interface FailedJob {
  readonly receiptId: string
  readonly subscriber: number
  readonly tenant: string
  readonly source: string
  readonly name: string
  readonly reason: string | null
}

export async function failedJobs(db: Queryable, question: FailedQuestion): Promise<FailedJob[]> {
  return rows(db, FAILED, [
    question.shard,
    question.source ?? null,
    question.subscriber ?? null,
    question.since ?? null,
    question.limit,
    question.tenant ?? null,
    question.until ?? null,
    question.typeLike ?? null,
    question.error ?? null,
  ])
}
