import type { Queryable } from '../../src/ledger/driver/statement.ts'
import { type ClaimedJob, claimJobs, claimSuspect, putOffSuspect } from '../../src/ledger/jobs/claim.ts'
import type { JobRef } from '../../src/ledger/jobs/job-ref.ts'
import type { Replay } from '../../src/ledger/jobs/replay.ts'
import type { TestDatabase } from './database.ts'
import { seedJobs, seedWorker } from './seed.ts'

/** The columns of a job that statements change. */
export const JOB = `select state::text, fence, attempt, crashes, worker, finished_at is not null as finished, reason from hookonce.job`

interface ClaimSize {
  readonly worker: number
  readonly subscriber: number
  readonly slots: number
}

export function claim(db: Queryable, { worker, subscriber, slots }: ClaimSize): Promise<ClaimedJob[]> {
  return claimJobs(db, { shard: 0, worker, slots: new Map([[subscriber, slots]]) })
}

/** Also claims suspects of several crashes, each as a worker would. */
export async function claimAny(
  db: Queryable,
  { worker, subscriber, slots }: ClaimSize,
): Promise<ClaimedJob[]> {
  const sizes = { shard: 0, worker, slots: new Map([[subscriber, slots]]) }
  const jobs = [...(await claimJobs(db, sizes)), ...(await claimJobs(db, { ...sizes, suspects: true }))]
  const suspect = await putOffSuspect(db, { shard: 0, subscribers: [subscriber], ms: 60_000 })
  const alone = suspect && (await claimSuspect(db, suspect, worker))
  return alone ? [...jobs, alone] : jobs
}

export async function claimOne(
  db: TestDatabase,
): Promise<{ job: ClaimedJob; worker: number; subscriber: number }> {
  const subscriber = await seedJobs(db, 1, { shard: 0 })
  const worker = await seedWorker(db)
  const [job] = await claim(db.pool, { worker, subscriber, slots: 5 })
  if (!job) throw new Error('the seeded job could not be claimed')
  return { job, worker, subscriber }
}

export function rescueOf(worker: number) {
  return { shard: 0, deadWorkers: [worker], limit: 500, isCrash: true }
}

export function replayOf(...jobs: JobRef[]): Replay {
  return {
    shard: 0,
    receiptIds: jobs.map((job) => job.receiptId),
    subscribers: undefined,
    states: ['processed', 'failed'],
  }
}
