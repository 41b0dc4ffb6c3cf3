import { DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { JobRef } from '../jobs/job-ref.ts'

/*
 * Effects by their business key. Every statement here names one shard, the effect's own. The same
 * transaction checks the fence of the job in the job's shard (`requireLive`).
 */

export type EffectState = 'started' | 'done' | 'failed' | 'unknown'

/** `tx`: committed with the business write. The other modes are calls to other services. */
export type EffectMode = 'tx' | 'keyed' | 'atMostOnce' | 'atLeastOnce'

/** The identity of an effect. */
export interface EffectId {
  readonly shard: number
  readonly id: string
  readonly tenant: string
  readonly key: string
}

/** An epoch of an effect that a run starts. */
export interface NewEffect {
  readonly effect: EffectId
  readonly job: JobRef
  readonly epoch: number
  readonly mode: EffectMode
  readonly inputHash: Buffer | null
  readonly downstreamKey: string
}

const START = statement(
  'start_effect',
  `insert into ledger.effect
     (shard, id, tenant, key, receipt_id, subscriber, fence, epoch, mode, input_hash, downstream_key, state)
   values ($1::smallint, $2::uuid, $3, $4, $5::uuid, $6::integer, $7::integer, $8::integer, $9, $10::bytea, $11, 'started')
   on conflict (shard, id, epoch) do nothing
   returning 1`,
)

/** False: the epoch exists. Waits for another transaction that is starting the same epoch. */
export async function startEffect(db: Queryable, started: NewEffect): Promise<boolean> {
  const { effect, job } = started
  const count = await change(db, START, [
    effect.shard,
    effect.id,
    effect.tenant,
    effect.key,
    job.receiptId,
    job.subscriber,
    job.fence,
    started.epoch,
    started.mode,
    started.inputHash,
    started.downstreamKey,
  ])
  return count === 1
}

const LATEST = statement(
  'latest_effect',
  `select epoch::integer as epoch, state::text as state, mode, receipt_id as "receiptId", subscriber, fence, input_hash as "inputHash",
     downstream_key as "downstreamKey", result::text as result, reason, reopened_at is not null as reopened, started_at as "startedAt",
     (extract(epoch from now() - started_at) * 1000)::float8 as "ageMs"
   from ledger.effect
   where shard = $1::smallint and id = $2::uuid
   order by epoch desc limit 1
   for update`,
)

export interface EffectRow {
  readonly epoch: number
  readonly state: EffectState
  readonly mode: EffectMode
  readonly receiptId: string
  readonly subscriber: number
  /** The fence of the run that may record the outcome; 0: no run may. */
  readonly fence: number
  readonly inputHash: Buffer | null
  readonly downstreamKey: string
  /** As JSON. */
  readonly result: string | null
  readonly reason: string | null
  readonly reopened: boolean
  readonly startedAt: Date
  readonly ageMs: number
}

/** The newest epoch, locked until the end of the transaction. */
export async function lockEffect(db: Queryable, { shard, id }: EffectId): Promise<EffectRow | undefined> {
  const [row] = await rows<EffectRow>(db, LATEST, [shard, id])
  return row
}

const TAKE_OVER = statement(
  'take_over_effect',
  `update ledger.effect
   set receipt_id = $4::uuid, subscriber = $5::integer, fence = $6::integer, mode = $7
   where shard = $1::smallint and id = $2::uuid and epoch = $3::integer`,
)

/**
 * Makes another run the one that may record the outcome. The age of the first call still counts.
 */
export async function takeOverEffect(
  db: Queryable,
  { effect, job, epoch, mode }: Pick<NewEffect, 'effect' | 'job' | 'epoch' | 'mode'>,
): Promise<void> {
  const owner = [job.receiptId, job.subscriber, job.fence]
  await change(db, TAKE_OVER, [effect.shard, effect.id, epoch, ...owner, mode])
}

/*
 * Checks the fence of the effect, not of the job. A worker that lost its job still knows the
 * outcome of its call, and may record it until another run takes the effect over.
 */
const END = statement(
  'end_effect',
  `with ended as (
     update ledger.effect
     set state = $7::ledger.effect_state, result = $8::jsonb, reason = $9, ended_at = now()
     where shard = $1::smallint and id = $2::uuid and epoch = $3::integer
       and receipt_id = $4::uuid and subscriber = $5::integer and fence = $6::integer
       -- The effect already has this outcome if the reply to our first try was lost.
       and state in ('started', $7::ledger.effect_state)
     returning 1
   )
   select ${DURABLE} from ended`,
)

export interface EndedEffect {
  readonly effect: EffectId
  readonly job: JobRef
  readonly epoch: number
  readonly state: 'done' | 'failed'
  /** As JSON. */
  readonly result: string | null
  readonly reason: string | null
}

/** False: another run owns the effect now, or its outcome counts as unknown; see `endUnknown`. */
export async function endEffect(db: Queryable, ended: EndedEffect): Promise<boolean> {
  const { effect, job, epoch, state, result, reason } = ended
  const owner = [job.receiptId, job.subscriber, job.fence]
  const count = await change(db, END, [effect.shard, effect.id, epoch, ...owner, state, result, reason])
  return count === 1
}

const END_UNKNOWN = statement(
  'end_unknown_effect',
  `update ledger.effect
   set state = $4::ledger.effect_state, result = $5::jsonb, reason = $6, ended_at = now()
   where shard = $1::smallint and id = $2::uuid and epoch = $3::integer and state = 'unknown'`,
)

/** Records the outcome of an effect that is unknown. The caller has locked it. */
export async function endUnknown(db: Queryable, ended: Omit<EndedEffect, 'job'>): Promise<void> {
  const { effect, epoch, state, result, reason } = ended
  await change(db, END_UNKNOWN, [effect.shard, effect.id, epoch, state, result, reason])
}

const MARK_UNKNOWN = statement(
  'mark_effect_unknown',
  `update ledger.effect set state = 'unknown', reason = $4
   where shard = $1::smallint and id = $2::uuid and epoch = $3::integer`,
)

export async function markUnknown(
  db: Queryable,
  { effect, epoch, reason }: { effect: EffectId; epoch: number; reason: string },
): Promise<void> {
  await change(db, MARK_UNKNOWN, [effect.shard, effect.id, epoch, reason])
}

/*
 * Calls of any run of a job whose outcome was not recorded. A plain read over all shards: a caller
 * that acts on it locks the effects first. Calls in the mode `atLeastOnce` may be repeated, so
 * their outcome is not needed.
 */
const OPEN_CALLS = statement(
  'open_calls_of_job',
  `select e.shard, e.id, e.tenant, e.key, e.epoch
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.effect e on e.shard = n.shard and e.receipt_id = $2::uuid
   where e.subscriber = $3::integer and e.state = 'started' and e.reopened_at is null and e.mode <> 'atLeastOnce'
   order by e.shard, e.id`,
)

export type OpenEffect = EffectId & { readonly epoch: number }

/** Sorted in the order in which effects are locked. */
export async function openCallsOf(
  db: Queryable,
  shards: number,
  { receiptId, subscriber }: Pick<JobRef, 'receiptId' | 'subscriber'>,
): Promise<OpenEffect[]> {
  return rows(db, OPEN_CALLS, [shards, receiptId, subscriber])
}

/** Marks the open calls of a job as unknown, in the transaction that ends the job. Returns them. */
export async function markOpenCallsUnknown(
  db: Queryable,
  { shards, job, reason }: { shards: number; job: Pick<JobRef, 'receiptId' | 'subscriber'>; reason: string },
): Promise<EffectId[]> {
  const marked: EffectId[] = []
  for (const effect of await openCallsOf(db, shards, job)) {
    const row = await lockEffect(db, effect)
    // Since it was read, its outcome may have been recorded, or another job may have taken it over.
    const isOpen = row?.state === 'started' && row.epoch === effect.epoch
    if (!isOpen || row.receiptId !== job.receiptId || row.subscriber !== job.subscriber) continue
    await markUnknown(db, { effect, epoch: effect.epoch, reason })
    marked.push(effect)
  }
  return marked
}

/* For operators: all epochs of the effects that the jobs of a receipt ran, over all shards. */
const OF_RECEIPT = statement(
  'effects_of_receipt',
  `select e.key, e.epoch, e.mode, e.state::text as state, e.reason, e.started_at as "startedAt", e.ended_at as "endedAt",
     e.reopened_at as "reopenedAt", e.downstream_key as "downstreamKey", e.result::text as "resultText", e.subscriber as "subscriberId",
     s.name as subscriber
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.effect e on e.shard = n.shard and e.receipt_id = $2::uuid
   join ledger.subscriber s on s.id = e.subscriber
   order by e.started_at, e.key, e.epoch`,
)

export interface EffectStory {
  readonly key: string
  readonly epoch: number
  readonly mode: EffectMode
  readonly state: EffectState
  readonly reason: string | null
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly reopenedAt: Date | null
  readonly downstreamKey: string
  /** As JSON text, with every digit. Null: it has none. */
  readonly resultText: string | null
  readonly subscriberId: number
  readonly subscriber: string
}

export async function effectsOfReceipt(
  db: Queryable,
  shards: number,
  receiptId: string,
): Promise<EffectStory[]> {
  return rows(db, OF_RECEIPT, [shards, receiptId])
}

/* For a fresh replay: closes the epochs that a job ran. Failed effects start the next anyway. */
const REOPEN = statement(
  'reopen_effects',
  `update ledger.effect set reopened_at = now()
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and state <> 'failed'
     and reopened_at is null
   returning shard, id, tenant, key`,
)

/** Returns the reopened effects: the next request calls them again. */
export async function reopenEffects(
  db: Queryable,
  { shard, receiptId, subscriber }: Omit<JobRef, 'fence'>,
): Promise<EffectId[]> {
  return rows(db, REOPEN, [shard, receiptId, subscriber])
}

/*
 * For jobs that another subscriber continues. Effects are locked in key order. The lock also reads
 * each row again: an effect that another job has taken over meanwhile stays with that job.
 */
const HAND_ON = statement(
  'hand_on_effects',
  `with owned as materialized (
     select e.id, e.epoch from ledger.effect e
     where e.shard = $1::smallint and e.receipt_id = any($2::uuid[]) and e.subscriber = $3::integer
     order by e.id, e.epoch
     for update
   )
   update ledger.effect e set subscriber = $4::integer
   from owned o
   where e.shard = $1::smallint and e.id = o.id and e.epoch = o.epoch`,
)

export interface ContinuedJobs {
  readonly receiptIds: readonly string[]
  readonly subscriber: number
  /** The subscriber that continues the jobs. */
  readonly to: number
}

/**
 * Makes the jobs that continue others the owners of their effects, in every epoch and state: open
 * calls must count, and a fresh replay must reopen the effects of all earlier runs.
 */
export async function handOnEffects(
  db: Queryable,
  shards: number,
  { receiptIds, subscriber, to }: ContinuedJobs,
): Promise<void> {
  const ids = binary.uuids(receiptIds)
  for (let shard = 0; shard < shards; shard += 1) await change(db, HAND_ON, [shard, ids, subscriber, to])
}
