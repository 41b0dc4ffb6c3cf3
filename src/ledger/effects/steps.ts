import { DURABLE, WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { byKey, type JobRef } from '../jobs/job-ref.ts'

/** A step of a job. Its name is done once in each epoch of the job. */
export interface StepId {
  readonly job: JobRef
  readonly epoch: number
  readonly name: string
}

const FIND_STEP = statement(
  'find_step',
  `select result::text as result, input_hash as "inputHash" from hookonce.step
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and epoch = $4::smallint
     and name = $5::text`,
)

export interface FoundStep {
  /** As JSON; null for none. */
  readonly result: string | null
  readonly inputHash: Buffer | null
}

/** What an earlier run of this job recorded under this name. */
export async function findStep(db: Queryable, { job, epoch, name }: StepId): Promise<FoundStep | undefined> {
  const [row] = await rows<FoundStep>(db, FIND_STEP, [job.shard, job.receiptId, job.subscriber, epoch, name])
  return row
}

/*
 * The last words of a business transaction. Each must fail, and not merely change nothing, when the
 * fence is stale: the COMMIT travels right behind it, in the same round trip, and a failed
 * transaction commits as a rollback. Hence the division by the number of rows. The job's row stays
 * locked until that commit, so that it cannot be rescued in between. The commit waits for the disk,
 * whatever the handler set before.
 */
const RECORD_STEP = statement(
  'record_step',
  `with live as materialized (
     select from hookonce.job
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     for update
   ), told as (
     insert into hookonce.step (shard, receipt_id, subscriber, fence, name, result, epoch, input_hash)
     select $1::smallint, $2::uuid, $3::integer, $4::integer, $5::text, $6::jsonb, $7::smallint, $8::bytea from live
   )
   select 1 / count(*), ${DURABLE} from live`,
)

export interface StepRecord extends StepId {
  /** As JSON; null for none. */
  readonly result: string | null
  readonly inputHash?: Buffer | null
}

export async function recordStep(db: Queryable, step: StepRecord): Promise<void> {
  const { job, name, result, epoch, inputHash = null } = step
  await rows(db, RECORD_STEP, [
    job.shard,
    job.receiptId,
    job.subscriber,
    job.fence,
    name,
    result,
    epoch,
    inputHash,
  ])
}

const REQUIRE_LIVE = statement(
  'require_live',
  `with live as materialized (
     select from hookonce.job
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     for update
   )
   select 1 / count(*), ${DURABLE} from live`,
)

/**
 * The first words of a transaction that is to happen only under a live fence. Fails as the last
 * words do.
 */
export async function requireLive(db: Queryable, job: JobRef): Promise<void> {
  await rows(db, REQUIRE_LIVE, [job.shard, job.receiptId, job.subscriber, job.fence])
}

const COMPLETE_WITH_STEP = statement(
  'complete_with_step',
  `with done as (
     update hookonce.job
     set state = 'processed', worker = null, finished_at = now(), reason = $6::text, last_step = $5::text
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     returning 1
   )
   select 1 / count(*), ${DURABLE} from done`,
)

/**
 * Completes the job in the transaction of its last step. `reason` tells why nothing came of it: it
 * was stale.
 */
export async function completeWithStep(
  db: Queryable,
  { job, name }: Omit<StepId, 'epoch'>,
  reason: string | null,
): Promise<void> {
  await rows(db, COMPLETE_WITH_STEP, [job.shard, job.receiptId, job.subscriber, job.fence, name, reason])
}

/* The steps that record what a run handed over with its completion: writes, messages, or both. */
export const WRITTEN = '(write)'
export const PUBLISHED = '(publish)'
export const WRITTEN_AND_PUBLISHED = '(write, publish)'

/*
 * Completes many jobs whose writes follow in the same transaction. Fence first: what is not
 * returned had lost its lease, and its writes are not sent; what is returned stays locked until the
 * commit. One probe of the primary key a job, in key order, as in settling. A replay that writes
 * where the earlier run only published adds to its record.
 */
const COMPLETE_WRITTEN = statement(
  'complete_written',
  `with ${WITH_DURABLE}, live as materialized (
     select j.shard, j.receipt_id, j.subscriber, e.step
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::text[])
       e(shard, receipt_id, subscriber, fence, step)
     cross join lateral (
       select * from hookonce.job k
       where k.shard = e.shard and k.receipt_id = e.receipt_id and k.subscriber = e.subscriber
       limit 1
       for update
     ) j
     where j.fence = e.fence and j.state = 'processing'
   )
   update hookonce.job j
   set state = 'processed', worker = null, finished_at = now(), reason = null,
     last_step = case when j.last_step in ('${WRITTEN}', '${PUBLISHED}') and j.last_step <> l.step
       then '${WRITTEN_AND_PUBLISHED}' else l.step end
   from live l
   where j.shard = l.shard and j.receipt_id = l.receipt_id and j.subscriber = l.subscriber
   returning j.receipt_id as "receiptId", j.subscriber, j.fence`,
)

/** A job to complete, and the step under which what it handed over is known. */
export interface CompletedJob {
  readonly job: JobRef
  readonly step: string
}

/** Tells for each job, in order, whether it was still ours to complete. */
export async function completeWritten(db: Queryable, jobs: readonly CompletedJob[]): Promise<boolean[]> {
  const batch = jobs.toSorted((a, b) => byKey(a.job, b.job))
  const done = await rows<Omit<JobRef, 'shard'>>(db, COMPLETE_WRITTEN, [
    binary.smallints(batch.map(({ job }) => job.shard)),
    binary.uuids(batch.map(({ job }) => job.receiptId)),
    binary.integers(batch.map(({ job }) => job.subscriber)),
    binary.integers(batch.map(({ job }) => job.fence)),
    binary.texts(batch.map(({ step }) => step)),
  ])
  // With the fence: a run that lost its lease, and the one that has it now, may end in the same
  // batch.
  const live = new Set(done.map(runOf))
  return jobs.map(({ job }) => live.has(runOf(job)))
}

function runOf({ receiptId, subscriber, fence }: Omit<JobRef, 'shard'>): string {
  return `${receiptId}/${subscriber}/${fence}`
}

/** What PostgreSQL calls a division by zero, and these statements a stale fence. */
export const STALE_FENCE = '22012'

const STEP_NAMES = statement(
  'step_names',
  `select name from hookonce.step
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and epoch = $4::smallint
   order by at, name`,
)

/** The steps that an epoch of a job has done. */
export async function stepNames(
  db: Queryable,
  { job, epoch }: { job: Omit<JobRef, 'fence'>; epoch: number },
): Promise<string[]> {
  const found = await rows<{ name: string }>(db, STEP_NAMES, [
    job.shard,
    job.receiptId,
    job.subscriber,
    epoch,
  ])
  return found.map(({ name }) => name)
}

const JOB_EPOCHS = statement(
  'job_epochs',
  `select j.subscriber, s.name, j.state::text as state, j.epoch, j.last_step as "lastStep"
   from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
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
