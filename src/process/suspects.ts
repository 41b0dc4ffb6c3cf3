import {
  type ClaimedJob,
  claimJobs,
  claimSuspect,
  type DueSuspect,
  dueSuspects,
  putOffSuspect,
} from '../ledger/jobs/claim.ts'
import { MOST_TOGETHER } from '../model/suspects.ts'
import type { ClaimerOptions } from './claimer.ts'

export interface SuspectClaimer {
  /** Returns how many were claimed. A suspect that runs alone has ended by then. */
  claim(): Promise<number>
  lookAnew(): void
}

export interface SuspectClaimerOptions extends Omit<ClaimerOptions, 'shards'> {
  readonly giveBackUnused: (taken: ReadonlyMap<number, number>, jobs: readonly ClaimedJob[]) => void
}

/**
 * Claims jobs that were in flight in several crashes: a few at a time, and at last one while
 * nothing else runs in this process. model/suspects.ts has the rule.
 */
export function suspectClaimer(options: SuspectClaimerOptions): SuspectClaimer {
  const { pool, slots, isolation, subscribers, nudge, stopping } = options
  let together = 0
  let lookAt = 0
  let aloneAt = 0

  async function claim(): Promise<number> {
    if (performance.now() < lookAt) return 0
    lookAt = performance.now() + options.pollMs
    const due = await dueSuspects(pool, subscribers)
    let count = 0
    for (const place of due) if (!place.isAlone) count += await claimTogether(place)
    const alone = due.find(({ isAlone }) => isAlone)
    if (alone && performance.now() >= aloneAt) count += await claimAlone(alone)
    return count
  }

  async function claimTogether({ shard, subscriber }: DueSuspect): Promise<number> {
    const worker = options.worker()
    const taken = slots.share([subscriber], MOST_TOGETHER - together)
    if (worker === undefined || taken.size === 0) return 0
    const jobs = await claimJobs(pool, { shard, worker, slots: taken, suspects: true }).catch((error) => {
      options.giveBackUnused(taken, [])
      throw error
    })
    options.giveBackUnused(taken, jobs)
    for (const job of jobs) {
      together += 1
      void options.start(job, worker).finally(() => {
        together -= 1
        lookAgain()
      })
    }
    return jobs.length
  }

  async function claimAlone({ shard }: DueSuspect): Promise<number> {
    const suspect = await putOffSuspect(pool, { shard, subscribers, ms: isolation.waitMs })
    if (!suspect) return 0
    const startedAt = performance.now()
    let count = 0
    await isolation.alone(async () => {
      const worker = options.workerAlone()
      if (worker === undefined || !slots.take(suspect.subscriber)) return
      const job = await claimSuspect(pool, suspect, worker).catch(async (error) => {
        // It may be leased all the same. Nothing else may start before it is handed back: a death
        // would be blamed on it.
        await options.returnAll(worker)
        slots.giveBack(suspect.subscriber, 1)
        throw error
      })
      if (!job) return slots.giveBack(suspect.subscriber, 1)
      count = 1
      await options.start(job, worker)
    }, stopping)
    // Other work gets as much time as it was kept waiting, however many suspects there are.
    const lastedMs = performance.now() - startedAt
    aloneAt = performance.now() + lastedMs
    setTimeout(lookAgain, lastedMs).unref()
    return count
  }

  function lookAgain(): void {
    lookAt = 0
    nudge.ring()
  }

  return {
    claim,
    lookAnew() {
      lookAt = 0
    },
  }
}
