import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { EffectId } from '../effects/effects.ts'
import type { JobRef } from './job-ref.ts'

const WAITING = statement(
  'jobs_waiting_for_effect',
  `select shard, receipt_id as "receiptId", subscriber from hookonce.attention
   where effect_id = $1::uuid and effect_shard = $2::smallint
   order by shard, receipt_id, subscriber`,
)

export type WaitingJob = Omit<JobRef, 'fence'>

/** Sorted in the order in which jobs are locked. */
export async function jobsWaitingFor(
  db: Queryable,
  effect: Pick<EffectId, 'shard' | 'id'>,
): Promise<WaitingJob[]> {
  return rows(db, WAITING, [effect.id, effect.shard])
}

/* The job starts again as by a replay: its age counts from the decision. */
const LET_GO = statement(
  'let_go_decided',
  `with waiting as (
     delete from hookonce.attention
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer
   )
   update hookonce.job
   set state = 'received', attempt = 0, crashes = 0, born_at = now(), due_at = now(), finished_at = null, reason = null
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and state = 'attention'`,
)

export async function letGo(db: Queryable, job: WaitingJob): Promise<number> {
  return change(db, LET_GO, [job.shard, job.receiptId, job.subscriber])
}

/**
 * Releases every job that waits for an effect. The caller has locked the effect. Returns the count.
 */
export async function letWaitingGo(db: Queryable, effect: EffectId): Promise<number> {
  let count = 0
  for (const job of await jobsWaitingFor(db, effect)) count += await letGo(db, job)
  return count
}

const ABANDON = statement(
  'abandon',
  `with waiting as (
     delete from hookonce.attention
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer
   )
   update hookonce.job set state = 'failed', finished_at = now(), reason = $4
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and state = 'attention'`,
)

export async function abandonJob(db: Queryable, job: WaitingJob, reason: string): Promise<number> {
  return change(db, ABANDON, [job.shard, job.receiptId, job.subscriber, reason])
}

const DECIDE = statement(
  'decide_effect',
  `update hookonce.effect
   set state = $4::hookonce.effect_state, reason = $5, result = $6::jsonb,
     ended_at = case when $4 = 'started' then null else now() end,
     -- To be called again with the same key: the clock of that key starts anew, and whoever asks first calls.
     started_at = case when $4 = 'started' then now() else started_at end,
     fence = case when $4 = 'started' then 0 else fence end,
     -- Until then it belongs to a job that goes on: that job is not given up while the outcome is open.
     receipt_id = coalesce($7::uuid, receipt_id), subscriber = coalesce($8::integer, subscriber)
   where shard = $1::smallint and id = $2::uuid and epoch = $3::integer`,
)

export interface DecidedEffect {
  readonly effect: EffectId
  readonly epoch: number
  readonly state: 'done' | 'failed' | 'started'
  readonly reason: string
  readonly result: string | null
  /** With `started`: the job that makes the next call. */
  readonly caller: WaitingJob | undefined
}

export async function decideEffect(db: Queryable, decided: DecidedEffect): Promise<void> {
  const { effect, epoch, state, reason, result, caller } = decided
  const owner = [caller?.receiptId ?? null, caller?.subscriber ?? null]
  await change(db, DECIDE, [effect.shard, effect.id, epoch, state, reason, result, ...owner])
}

/*
 * Unknown effects, oldest first, each with the jobs that wait for it. An unknown effect that a
 * fresh replay reopened needs no decision. An effect that jobs wait for is listed in any state, so
 * that no job waits unseen.
 */
const LIST = statement(
  'list_attention',
  `with listed as (
     select e.shard, e.id, e.epoch from generate_series(0, $1::integer - 1) n(shard)
     join hookonce.effect e on e.shard = n.shard and e.state = 'unknown' and e.reopened_at is null
     union
     select w.effect_shard, w.effect_id, latest.epoch
     from (select distinct effect_shard, effect_id from hookonce.attention) w
     cross join lateral (
       select l.epoch from hookonce.effect l where l.shard = w.effect_shard and l.id = w.effect_id
       order by l.epoch desc limit 1
     ) latest
   )
   select e.tenant, e.key, e.epoch, e.mode, e.downstream_key as "downstreamKey", e.started_at as "startedAt",
     case when e.state = 'unknown' and e.reopened_at is null then e.reason
       else 'it needs no decision (it is ' || e.state::text || '): confirm-done lets its jobs go on' end as reason,
     coalesce(jobs.list, '[]') as jobs
   from listed join hookonce.effect e using (shard, id, epoch)
   cross join lateral (
     select jsonb_agg(jsonb_build_object('receiptId', a.receipt_id, 'source', s.source, 'subscriber', s.name)
       order by a.receipt_id) as list
     from hookonce.attention a join hookonce.subscriber s on s.id = a.subscriber
     where a.effect_id = e.id and a.effect_shard = e.shard
   ) jobs
   order by e.started_at`,
)

export interface UnknownEffect {
  readonly tenant: string
  readonly key: string
  readonly epoch: number
  readonly mode: string
  /** The idempotency key that the called service got: look the call up by it. */
  readonly downstreamKey: string
  readonly startedAt: Date
  readonly reason: string
  /** Empty if they were abandoned. */
  readonly jobs: readonly {
    readonly receiptId: string
    readonly source: string
    readonly subscriber: string
  }[]
}

export async function unknownEffects(db: Queryable, shards: number): Promise<UnknownEffect[]> {
  return rows(db, LIST, [shards])
}
