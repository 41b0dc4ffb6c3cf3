import { DURABLE } from '../../sql/durable.ts'
import { changeAll, type Filled, isDistributed } from '../driver/shapes.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { REQUIRE_LIVE } from '../jobs/fence.ts'
import type { JobRef } from '../jobs/job-ref.ts'

/** A step of a job. Its name is used once in each epoch of the job. */
export interface StepId {
  readonly job: JobRef
  readonly epoch: number
  readonly name: string
}

const FIND_STEP = statement(
  'find_step',
  `select result::text as result, input_hash as "inputHash" from ledger.step
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and epoch = $4::smallint
     and name = $5::text`,
)

export interface FoundStep {
  /** As JSON; null for none. */
  readonly result: string | null
  readonly inputHash: Buffer | null
}

/** The record of an earlier run of this job under this name. */
export async function findStep(db: Queryable, { job, epoch, name }: StepId): Promise<FoundStep | undefined> {
  const [row] = await rows<FoundStep>(db, FIND_STEP, [job.shard, job.receiptId, job.subscriber, epoch, name])
  return row
}

/* Fails if the fence is stale, like every statement before a COMMIT: see jobs/fence.ts. */
const RECORD_STEP = statement(
  'record_step',
  `with live as materialized (
     select 1 from ledger.job
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     for update
   ), told as (
     insert into ledger.step (shard, receipt_id, subscriber, fence, name, result, epoch, input_hash)
     select $1::smallint, $2::uuid, $3::integer, $4::integer, $5::text, $6::jsonb, $7::smallint, $8::bytea from live
   )
   select 1 / count(*), ${DURABLE} from live`,
  { only: 'plain' },
)

/* Follows a statement that checks the fence, in one transaction: see driver/shapes.ts. */
const ADD_STEP = statement(
  'add_step',
  `insert into ledger.step (shard, receipt_id, subscriber, fence, name, result, epoch, input_hash)
   values ($1::smallint, $2::uuid, $3::integer, $4::integer, $5::text, $6::jsonb, $7::smallint, $8::bytea)`,
)

export interface StepRecord extends StepId {
  /** As JSON; null for none. */
  readonly result: string | null
  readonly inputHash?: Buffer | null
}

export async function recordStep(db: Queryable, step: StepRecord): Promise<void> {
  const { job } = step
  const run = [job.shard, job.receiptId, job.subscriber, job.fence]
  if (isDistributed(db)) await changeAll(db, [[REQUIRE_LIVE, run], addedStep(step)])
  else await rows(db, RECORD_STEP, valuesOf(step))
}

/** The record of a step, for a distributed ledger. */
export function addedStep(step: StepRecord): Filled {
  return [ADD_STEP, valuesOf(step)]
}

function valuesOf({ job, name, result, epoch, inputHash = null }: StepRecord): unknown[] {
  return [job.shard, job.receiptId, job.subscriber, job.fence, name, result, epoch, inputHash]
}

/* The steps that record the hand-over of a run: writes, messages, or both. */
export const WRITTEN = '(write)'
export const PUBLISHED = '(publish)'
export const WRITTEN_AND_PUBLISHED = '(write, publish)'

/**
 * Whether job `j` still has as many steps as its run `e` has seen. A failover to a standby that
 * missed a commit can lose them, and a job without them has to run again.
 */
export const HAS_ITS_STEPS = `(e.steps = 0 or e.steps <= (
       select count(*) from ledger.step s
       where s.shard = j.shard and s.receipt_id = j.receipt_id and s.subscriber = j.subscriber and s.epoch = j.epoch
     ))`

const STEPS_DONE = statement(
  'steps_done',
  `select name, at from ledger.step
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and epoch = $4::smallint
   order by at, name`,
)

export interface StepDone {
  readonly name: string
  /** When it was committed. */
  readonly at: Date
}

/** The finished steps of an epoch of a job, in their order. */
export async function stepsDone(
  db: Queryable,
  { job, epoch }: { job: Omit<JobRef, 'fence'>; epoch: number },
): Promise<StepDone[]> {
  return rows(db, STEPS_DONE, [job.shard, job.receiptId, job.subscriber, epoch])
}

export async function stepNames(...question: Parameters<typeof stepsDone>): Promise<string[]> {
  return (await stepsDone(...question)).map(({ name }) => name)
}

const JOB_EPOCHS = statement(
  'job_epochs',
  `select j.subscriber, s.name, j.state::text as state, j.epoch, j.last_step as "lastStep"
   from ledger.job j join ledger.subscriber s on s.id = j.subscriber
   where j.shard = $1::smallint and j.receipt_id = $2::uuid order by j.subscriber`,
)

export interface JobEpoch {
  readonly subscriber: number
  readonly name: string
  readonly state: string
  readonly epoch: number
  readonly lastStep: string | null
}

export async function jobEpochs(
  db: Queryable,
  { shard, receiptId }: Pick<JobRef, 'shard' | 'receiptId'>,
): Promise<JobEpoch[]> {
  return rows(db, JOB_EPOCHS, [shard, receiptId])
}
