import { DURABLE, WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { changeAll, isDistributed } from '../driver/shapes.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import {
  addedStep,
  HAS_ITS_STEPS,
  PUBLISHED,
  type StepRecord,
  WRITTEN,
  WRITTEN_AND_PUBLISHED,
} from '../effects/steps.ts'
import { byKey, type JobRef } from './job-ref.ts'

/*
 * Completions that commit together with business writes, in the transaction of those writes.
 * Completions without writes are in settle.ts.
 */

/** Fails if the fence is stale, or an earlier step is gone: see fence.ts. */
const completeWith = (told: string): string => `with done as (
     update ledger.job j
     set state = 'processed', worker = null, finished_at = now(), reason = $6::text, last_step = $5::text
     from (select $7::integer as steps) e
     where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.subscriber = $3::integer
       and j.fence = $4::integer and j.state = 'processing' and ${HAS_ITS_STEPS}
     returning 1
   )${told}
   select 1 / count(*), ${DURABLE} from done`

const COMPLETE_WITH_STEP = statement('complete_with_step', completeWith(''))

/* Most last steps return nothing, so only this statement writes a row of the step. */
const COMPLETE_WITH_RESULT = statement(
  'complete_with_result',
  completeWith(`, told as (
     insert into ledger.step (shard, receipt_id, subscriber, fence, name, result, epoch)
     select $1::smallint, $2::uuid, $3::integer, $4::integer, $5::text, $8::jsonb, $9::smallint from done
   )`),
  { only: 'plain' },
)

export interface LastStep extends StepRecord {
  /** How many earlier steps the run has seen. */
  readonly steps: number
  /** Set if the event was stale. */
  readonly reason: string | null
}

/** Completes the job in the transaction of its last step. */
export async function completeWithStep(db: Queryable, step: LastStep): Promise<void> {
  const { job, name, steps, reason, result, epoch } = step
  const values = [job.shard, job.receiptId, job.subscriber, job.fence, name, reason, steps]
  if (result === null) await rows(db, COMPLETE_WITH_STEP, values)
  else if (!isDistributed(db)) await rows(db, COMPLETE_WITH_RESULT, [...values, result, epoch])
  // The step comes second: it must not count as one of the earlier steps.
  else await changeAll(db, [[COMPLETE_WITH_STEP, values], addedStep(step)])
}

/*
 * Completes many jobs whose writes follow in the same transaction. Fences are checked first: a job
 * that is not returned had lost its lease or a step, and its writes are not sent. Returned jobs
 * stay locked until the commit. One probe of the primary key per job, in key order, as in
 * settle.ts. A replay that writes where the earlier run only published extends the record.
 */
const COMPLETE_WRITTEN = statement(
  'complete_written',
  `with ${WITH_DURABLE}, live as materialized (
     select j.shard, j.receipt_id, j.subscriber, e.step
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::integer[])
       e(shard, receipt_id, subscriber, fence, step, steps)
     cross join lateral (
       select * from ledger.job k
       where k.shard = e.shard and k.receipt_id = e.receipt_id and k.subscriber = e.subscriber
       limit 1
       for update
     ) j
     where j.fence = e.fence and j.state = 'processing' and ${HAS_ITS_STEPS}
   ), completed as (
     update ledger.job j
     set state = 'processed', worker = null, finished_at = now(), reason = null,
       last_step = case when j.last_step in ('${WRITTEN}', '${PUBLISHED}') and j.last_step <> l.step
         then '${WRITTEN_AND_PUBLISHED}' else l.step end
     from live l
     where j.shard = l.shard and j.receipt_id = l.receipt_id and j.subscriber = l.subscriber
     returning j.receipt_id, j.subscriber, j.fence
   )
   select receipt_id as "receiptId", subscriber, fence from completed`,
)

/** A job to complete, and the step that records its hand-over. */
export interface CompletedJob {
  readonly job: JobRef
  readonly step: string
  /** How many earlier steps the run has seen. */
  readonly steps: number
}

/**
 * Returns for each job, in order, whether it was completed. False: its lease or a step was lost.
 */
export async function completeWritten(db: Queryable, jobs: readonly CompletedJob[]): Promise<boolean[]> {
  const batch = jobs.toSorted((a, b) => byKey(a.job, b.job))
  const done = await rows<Omit<JobRef, 'shard'>>(db, COMPLETE_WRITTEN, [
    binary.smallints(batch.map(({ job }) => job.shard)),
    binary.uuids(batch.map(({ job }) => job.receiptId)),
    binary.integers(batch.map(({ job }) => job.subscriber)),
    binary.integers(batch.map(({ job }) => job.fence)),
    binary.texts(batch.map(({ step }) => step)),
    binary.integers(batch.map(({ steps }) => steps)),
  ])
  // The fence is part of the key: a run that lost its lease and the run that has it now may be in
  // one batch.
  const live = new Set(done.map(runOf))
  return jobs.map(({ job }) => live.has(runOf(job)))
}

function runOf({ receiptId, subscriber, fence }: Omit<JobRef, 'shard'>): string {
  return `${receiptId}/${subscriber}/${fence}`
}
