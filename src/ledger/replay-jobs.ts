import type { JobState } from '../model/job-state.ts'
import * as binary from './binary.ts'
import { change, type Queryable, rows, statement } from './statement.ts'

/*
 * Replay: a finished job is received again, with its counters at zero and its fence as it was. The run that
 * ended well is told in attempt before its row is reused; so is the step that completed it, which the next completion
 * may overwrite.
 */
const REPLAY = statement(
  'replay',
  `with finished as materialized (
     select j.receipt_id, j.subscriber from hookonce.job j
     where j.shard = $1::smallint and j.receipt_id = any($2::uuid[]) and j.state = any($4::hookonce.job_state[])
       and ($3::integer[] is null or j.subscriber = any($3::integer[]))
     order by j.receipt_id, j.subscriber
     for update
   ), told as (
     insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome)
     select j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, j.finished_at, 'processed'
     from hookonce.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.state = 'processed'
   ), kept as (
     insert into hookonce.step (shard, receipt_id, subscriber, fence, epoch, name)
     select j.shard, j.receipt_id, j.subscriber, j.fence, j.epoch, j.last_step
     from hookonce.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.last_step is not null and $5::integer = 0
     on conflict (shard, receipt_id, subscriber, epoch, name) do nothing
   ), lanes as (
     -- Its lane may be gone. Taken under its lock otherwise, so that nobody removes it who has not seen this job.
     insert into hookonce.lane (shard, id, seq, added)
     select distinct (get_byte(uuid_send(j.lane), 0) % (select value from hookonce.setting where name = 'shards'))::smallint,
       j.lane, (extract(epoch from now()) * 1000000)::bigint, 0
     from hookonce.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.lane is not null
     on conflict (shard, id) do update set added = 0
   )
   update hookonce.job j
   set state = 'received', attempt = 0, crashes = 0, born_at = now(), finished_at = null, reason = null,
     due_at = case when j.lane is null then now() else 'infinity' end,
     epoch = j.epoch + $5::integer, last_step = case when $5::integer = 0 then j.last_step end
   from finished f
   where j.shard = $1::smallint and j.receipt_id = f.receipt_id and j.subscriber = f.subscriber`,
)

export interface Replay {
  readonly shard: number
  readonly receiptIds: readonly string[]
  readonly subscribers: readonly number[] | undefined
  /** Which finished jobs are meant: what was planned may have been mended by somebody else since. */
  readonly states: readonly Extract<JobState, 'processed' | 'failed'>[]
  /** Begin a new epoch: what earlier runs did does not count. */
  readonly fresh?: boolean
}

/** Returns how many jobs were received again. */
export async function replayJobs(db: Queryable, replay: Replay): Promise<number> {
  return change(db, REPLAY, [
    replay.shard,
    binary.uuids(replay.receiptIds),
    replay.subscribers ? binary.integers(replay.subscribers) : null,
    replay.states,
    replay.fresh ? 1 : 0,
  ])
}

/* A subscriber that came after the receipt has no job on it yet. */
const ADD_MISSING = statement(
  'add_missing_jobs',
  `insert into hookonce.job (shard, receipt_id, subscriber, state)
   select $1::smallint, $2::uuid, unnest($3::integer[]), 'received'
   on conflict (shard, receipt_id, subscriber) do nothing`,
)

export async function addMissingJobs(
  db: Queryable,
  replay: { shard: number; receiptId: string; subscribers: readonly number[] },
): Promise<number> {
  return change(db, ADD_MISSING, [replay.shard, replay.receiptId, binary.integers(replay.subscribers)])
}

/*
 * Failed jobs that can be replayed, oldest first. Bodies go before keys do, so the oldest failures have lost
 * theirs: they are passed over before the limit counts.
 */
const FAILED = statement(
  'failed_jobs',
  `select j.receipt_id as "receiptId", j.subscriber, s.source, s.name, j.reason
   from hookonce.subscriber s
   join hookonce.source o on o.tenant = s.tenant and o.name = s.source
   cross join lateral (
     select j.receipt_id, j.subscriber, j.reason, j.finished_at
     from hookonce.job j
     join hookonce.receipt r on r.shard = $1::smallint and r.id = j.receipt_id and r.body is not null
       and r.received_at > now() - o.body_seconds * interval '1 second'
     where j.shard = $1::smallint and j.subscriber = s.id and j.state in ('failed', 'attention') and j.state = 'failed'
       and j.finished_at >= now() - $4::float8 * interval '1 millisecond'
     order by j.finished_at limit $5::integer
   ) j
   where ($2::text is null or s.source = $2::text) and ($3::text is null or s.name = $3::text)
   order by j.finished_at limit $5::integer`,
)

export interface FailedQuestion {
  readonly shard: number
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly sinceMs: number
  readonly limit: number
}

export interface FailedJob {
  readonly receiptId: string
  readonly subscriber: number
  readonly source: string
  readonly name: string
  readonly reason: string | null
}

export async function failedJobs(db: Queryable, question: FailedQuestion): Promise<FailedJob[]> {
  return rows(db, FAILED, [
    question.shard,
    question.source ?? null,
    question.subscriber ?? null,
    question.sinceMs,
    question.limit,
  ])
}

/*
 * Of these subscribers, those that no running worker can have: they were last registered before the process of any of
 * them began. A process registers at its start and does not say so again, so this tells who is surely not run now; one
 * that was registered since may be gone too. A worker that lost its lease comes back under another id: its first row,
 * kept for a day, tells when its process began. A minute, because a process registers before its worker is enlisted.
 */
const UNATTENDED = statement(
  'unattended_subscribers',
  `select s.source, s.name as subscriber, s.seen_at as "registeredAt", running.since is not null as "othersRun"
   from hookonce.subscriber s
   cross join (
     select min(w.started_at) as since from hookonce.worker w
     where exists (
       select from hookonce.worker alive
       where alive.host = w.host and alive.pid = w.pid and alive.dead_at is null and alive.lease_until > now()
     )
   ) running
   where s.id = any($1::integer[]) and (running.since is null or s.seen_at < running.since - interval '1 minute')
   order by s.source, s.name`,
)

export interface UnattendedSubscriber {
  readonly source: string
  readonly subscriber: string
  readonly registeredAt: Date
  /** Whether any worker runs at all. */
  readonly othersRun: boolean
}

export async function unattendedSubscribers(
  db: Queryable,
  subscribers: readonly number[],
): Promise<UnattendedSubscriber[]> {
  return rows(db, UNATTENDED, [binary.integers(subscribers)])
}
