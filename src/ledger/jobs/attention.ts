import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { EffectId } from '../effects/effects.ts'
import type { JobRef } from './job-ref.ts'

const WAITING = statement(
  'jobs_waiting_for_effect',
  `select shard, receipt_id as "receiptId", subscriber from ledger.attention
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

/* The job starts again as after a replay: its age counts from the decision. */
const LET_GO = statement(
  'let_go_decided',
  `with waiting as (
     delete from ledger.attention
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer
   )
   update ledger.job
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
     delete from ledger.attention
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer
   )
   update ledger.job set state = 'failed', finished_at = now(), reason = $4
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and state = 'attention'`,
)

export async function abandonJob(db: Queryable, job: WaitingJob, reason: string): Promise<number> {
  return change(db, ABANDON, [job.shard, job.receiptId, job.subscriber, reason])
}

const DECIDE = statement(
  'decide_effect',
  `update ledger.effect
   set state = $4::ledger.effect_state, reason = $5, result = $6::jsonb,
     ended_at = case when $4 = 'started' then null else clock.now end,
     -- 'started': the next run that requests the effect calls again with the same key, whose age
     -- counts from now.
     started_at = case when $4 = 'started' then clock.now else started_at end,
     fence = case when $4 = 'started' then 0 else fence end,
     -- The caller owns the effect until then, so the caller does not fail while the outcome is open.
     receipt_id = coalesce($7::uuid, receipt_id), subscriber = coalesce($8::integer, subscriber)
   from (select now() as now) clock
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
 * that no job waits unseen. If it is `started`, only a live run can still record its outcome.
 */
const list = (beyond: string, order: string): string => `with listed as (
     select e.shard, e.id, e.epoch from generate_series(0, $1::integer - 1) n(shard)
     join ledger.effect e on e.shard = n.shard and e.state = 'unknown' and e.reopened_at is null
     union
     select w.effect_shard, w.effect_id, latest.epoch
     from (select distinct effect_shard, effect_id from ledger.attention) w
     cross join lateral (
       select l.epoch from ledger.effect l where l.shard = w.effect_shard and l.id = w.effect_id
       order by l.epoch desc limit 1
     ) latest
   ), page as materialized (
     select e.* from listed join ledger.effect e using (shard, id, epoch)
     where ($2::text is null or e.tenant = $2::text) and (e.started_at, e.id) ${beyond} ($3::timestamptz, $4::uuid)
     order by e.started_at ${order}, e.id ${order} limit $5::integer
   )
   select e.tenant, e.key, e.epoch, e.mode, e.downstream_key as "downstreamKey", e.started_at as "startedAt",
     e.ended_at as "endedAt", encode(e.input_hash, 'hex') as "inputHash", call.row as call,
     case when e.state = 'unknown' and e.reopened_at is null then e.reason
       when e.state = 'started' and e.reopened_at is null and not exists (
         select from ledger.job caller
         where caller.shard = get_byte(uuid_send(e.receipt_id), 0) % $1::integer and caller.receipt_id = e.receipt_id
           and caller.subscriber = e.subscriber and caller.fence = e.fence and caller.state = 'processing'
       ) then 'it was called and no reply was recorded'
       else 'no decision is needed: the effect is ' || e.state::text || '; confirm-done releases its jobs' end as reason,
     coalesce(jobs.list, '[]') as jobs,
     to_char(e.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || e.id as cursor
   from page e
   cross join lateral (
     select jsonb_agg(jsonb_build_object('receiptId', a.receipt_id, 'source', s.source, 'subscriber', s.name)
       order by a.receipt_id) as list
     from ledger.attention a join ledger.subscriber s on s.id = a.subscriber
     where a.effect_id = e.id and a.effect_shard = e.shard
   ) jobs
   left join lateral (
     -- The receipt and the record of the run may have been deleted after their retention.
     select jsonb_build_object('receiptId', e.receipt_id, 'eventType', r.event_type, 'eventKey', r.event_key,
       'source', s.source, 'subscriber', s.name, 'attempt', a.number, 'error', a.error) as row
     from ledger.subscriber s
     left join ledger.receipt r
       on r.shard = get_byte(uuid_send(e.receipt_id), 0) % $1::integer and r.id = e.receipt_id
     left join ledger.attempt a
       on a.shard = get_byte(uuid_send(e.receipt_id), 0) % $1::integer and a.receipt_id = e.receipt_id
         and a.subscriber = e.subscriber and a.fence = e.fence
     where s.id = e.subscriber
   ) call on true
   order by e.started_at, e.id`

const LIST = statement('list_attention', list('>', 'asc'))
const LIST_BACK = statement('list_attention_back', list('<', 'desc'))

export interface UnknownEffect {
  readonly tenant: string
  readonly key: string
  readonly epoch: number
  readonly mode: string
  /** The idempotency key that the called service received: search for the call by it. */
  readonly downstreamKey: string
  readonly startedAt: Date
  /** When it became unknown. */
  readonly endedAt: Date | null
  /** SHA-256 of the input that the handler declared; the input itself is not stored. */
  readonly inputHash: string | null
  /** The run that made the last call. */
  readonly call: LastCall | null
  readonly reason: string
  /** Its position in the list. */
  readonly cursor: string
  /** Empty if they were abandoned. */
  readonly jobs: readonly {
    readonly receiptId: string
    readonly source: string
    readonly subscriber: string
  }[]
}

export interface LastCall {
  readonly receiptId: string
  /** Null: the receipt is past its retention. */
  readonly eventType: string | null
  readonly eventKey: string | null
  readonly source: string
  readonly subscriber: string
  /** Null: there is no record of the run. */
  readonly attempt: number | null
  readonly error: string | null
}

/** A position: a time and an id. */
export interface AttentionPosition {
  readonly at: string
  readonly id: string
}

export interface AttentionQuestion {
  readonly tenant?: string | undefined
  readonly limit?: number | undefined
  readonly after?: AttentionPosition | undefined
  /** Instead of `after`: the older effects next to this position. */
  readonly before?: AttentionPosition | undefined
}

/** The oldest first. */
export async function unknownEffects(
  db: Queryable,
  shards: number,
  { tenant, limit, after = START, before }: AttentionQuestion = {},
): Promise<UnknownEffect[]> {
  const { at, id } = before ?? after
  return rows(db, before ? LIST_BACK : LIST, [shards, tenant ?? null, at, id, limit ?? null])
}

const START: AttentionPosition = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' }
