import type { JobRef } from './job-ref.ts'
import { change, type Queryable, rows, statement } from './statement.ts'

/*
 * Effects by their business key. Every statement here names one shard, the effect's own; that the job is still
 * owned is asked in its own shard, in the same transaction (`requireLive`).
 */

export type EffectState = 'started' | 'done' | 'failed' | 'unknown'

/** `tx`: committed with the business write. The others are calls to the outside. */
export type EffectMode = 'tx' | 'keyed' | 'atMostOnce' | 'atLeastOnce'

/** An effect as its key names it. */
export interface EffectId {
  readonly shard: number
  readonly id: string
  readonly tenant: string
  readonly key: string
}

/** One epoch of an effect, to be started by a run. */
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
  `insert into hookonce.effect
     (shard, id, tenant, key, receipt_id, subscriber, fence, epoch, mode, input_hash, downstream_key, state)
   values ($1::smallint, $2::uuid, $3, $4, $5::uuid, $6::integer, $7::integer, $8::smallint, $9, $10::bytea, $11, 'started')
   on conflict (shard, id, epoch) do nothing
   returning 1`,
)

/** False: somebody was there before. Waits for whoever is about to start the same epoch in another transaction. */
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
  `select epoch, state::text as state, mode, receipt_id as "receiptId", subscriber, fence, input_hash as "inputHash",
     downstream_key as "downstreamKey", result, reason, reopened_at is not null as reopened, started_at as "startedAt",
     (extract(epoch from now() - started_at) * 1000)::float8 as "ageMs"
   from hookonce.effect
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
  /** Of the run that may tell its outcome; 0: of none. */
  readonly fence: number
  readonly inputHash: Buffer | null
  readonly downstreamKey: string
  readonly result: unknown
  readonly reason: string | null
  readonly reopened: boolean
  readonly startedAt: Date
  readonly ageMs: number
}

/** The epoch that counts, locked until the end of the transaction. */
export async function lockEffect(db: Queryable, { shard, id }: EffectId): Promise<EffectRow | undefined> {
  const [row] = await rows<EffectRow>(db, LATEST, [shard, id])
  return row
}

const TAKE_OVER = statement(
  'take_over_effect',
  `update hookonce.effect
   set receipt_id = $4::uuid, subscriber = $5::integer, fence = $6::integer, mode = $7
   where shard = $1::smallint and id = $2::uuid and epoch = $3::smallint`,
)

/** Makes another run the one that may tell the outcome. The clock of its first call goes on. */
export async function takeOverEffect(
  db: Queryable,
  { effect, job, epoch, mode }: Pick<NewEffect, 'effect' | 'job' | 'epoch' | 'mode'>,
): Promise<void> {
  const owner = [job.receiptId, job.subscriber, job.fence]
  await change(db, TAKE_OVER, [effect.shard, effect.id, epoch, ...owner, mode])
}

/*
 * The fence here is the effect's: a worker that lost its job, but whose effect nobody has taken over, still knows
 * what became of its call, and may say so.
 */
const END = statement(
  'end_effect',
  `update hookonce.effect
   set state = $7::hookonce.effect_state, result = $8::jsonb, reason = $9, ended_at = now()
   where shard = $1::smallint and id = $2::uuid and epoch = $3::smallint
     and receipt_id = $4::uuid and subscriber = $5::integer and fence = $6::integer
     -- Or already what we say: the reply to our first try was lost.
     and state in ('started', $7::hookonce.effect_state)`,
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

/** False: another run owns the effect now. */
export async function endEffect(db: Queryable, ended: EndedEffect): Promise<boolean> {
  const { effect, job, epoch, state, result, reason } = ended
  const owner = [job.receiptId, job.subscriber, job.fence]
  const count = await change(db, END, [effect.shard, effect.id, epoch, ...owner, state, result, reason])
  return count === 1
}

const MARK_UNKNOWN = statement(
  'mark_effect_unknown',
  `update hookonce.effect set state = 'unknown', reason = $4
   where shard = $1::smallint and id = $2::uuid and epoch = $3::smallint`,
)

export async function markUnknown(
  db: Queryable,
  { effect, epoch, reason }: { effect: EffectId; epoch: number; reason: string },
): Promise<void> {
  await change(db, MARK_UNKNOWN, [effect.shard, effect.id, epoch, reason])
}

const IS_LIVE = statement(
  'is_live',
  `select 1 from hookonce.job
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
     and state = 'processing'`,
)

/** Whether this run may still be at work, as far as the ledger knows. */
export async function isLive(db: Queryable, run: JobRef): Promise<boolean> {
  const found = await rows(db, IS_LIVE, [run.shard, run.receiptId, run.subscriber, run.fence])
  return found.length === 1
}

/* What a person looks at: all epochs, over all shards, by the receipt whose job ran them. */
const OF_RECEIPT = statement(
  'effects_of_receipt',
  `select e.key, e.epoch, e.mode, e.state::text as state, e.reason, e.started_at as "startedAt", e.ended_at as "endedAt",
     e.reopened_at as "reopenedAt", e.downstream_key as "downstreamKey", e.subscriber as "subscriberId", s.name as subscriber
   from generate_series(0, $1::integer - 1) n(shard)
   join hookonce.effect e on e.shard = n.shard and e.receipt_id = $2::uuid
   join hookonce.subscriber s on s.id = e.subscriber
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

/*
 * A fresh replay: what a job has run so far belongs to a closed epoch. Failed ones begin the next by themselves.
 */
const REOPEN = statement(
  'reopen_effects',
  `update hookonce.effect set reopened_at = now()
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and state <> 'failed'
     and reopened_at is null`,
)

export async function reopenEffects(
  db: Queryable,
  { shard, receiptId, subscriber }: Omit<JobRef, 'fence'>,
): Promise<number> {
  return change(db, REOPEN, [shard, receiptId, subscriber])
}
