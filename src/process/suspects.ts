import type { Pool } from 'pg'
import {
  type ClaimedJob,
  claimJobs,
  claimSuspect,
  type DueSuspect,
  dueSuspects,
  putOffSuspect,
  type Suspect,
} from '../ledger/jobs/claim.ts'
import type { Vault } from '../ledger/vault/vault.ts'
import { MOST_TOGETHER } from '../model/suspects.ts'
import { aloneClaimer } from '../work/claim-alone.ts'
import type { ClaimTerms } from '../work/claim-loop.ts'
import { claimForShares, type Slots } from '../work/slots.ts'
import { openPayloads } from './open-payloads.ts'

export interface SuspectClaimer {
  /** Returns the number of claimed jobs. A suspect that runs alone has ended by then. */
  claim(): Promise<number>
  lookAnew(): void
}

export interface SuspectClaimerOptions extends ClaimTerms {
  readonly pool: Pool
  readonly vault: Vault
  readonly subscribers: readonly number[]
  readonly slots: Slots<number>
  readonly pollMs: number
  /** Takes over a job that was leased to `worker`, together with its slot, until it has ended. */
  readonly start: (job: ClaimedJob, worker: number) => Promise<void>
}

/**
 * Claims jobs that were in flight in several crashes: first a few at a time, finally one while
 * nothing else runs in this process. model/suspects.ts has the rule.
 */
export function suspectClaimer(options: SuspectClaimerOptions): SuspectClaimer {
  const { pool, vault, slots, isolation, subscribers, nudge, start } = options
  const alone = aloneClaimer({ ...options, onRested: lookAgain })
  let together = 0
  let lookAt = 0

  async function claim(): Promise<number> {
    if (performance.now() < lookAt) return 0
    lookAt = performance.now() + options.pollMs
    const due = await dueSuspects(pool, subscribers)
    let count = 0
    for (const place of due) if (!place.isAlone) count += await claimTogether(place)
    const place = due.find(({ isAlone }) => isAlone)
    if (place && !alone.isResting) count += await claimAlone(place)
    return count
  }

  async function claimTogether({ shard, subscriber }: DueSuspect): Promise<number> {
    const worker = options.worker()
    if (worker === undefined) return 0
    const shares = slots.share([subscriber], MOST_TOGETHER - together)
    if (shares.size === 0) return 0
    const jobs = await claimForShares(slots, shares, {
      claim: async () =>
        openPayloads(vault, await claimJobs(pool, { shard, worker, slots: shares, suspects: true })),
      keyOf: (job) => job.subscriber,
    })
    for (const job of jobs) {
      together += 1
      void start(job, worker).finally(() => {
        together -= 1
        lookAgain()
      })
    }
    return jobs.length
  }

  function claimAlone({ shard }: DueSuspect): Promise<number> {
    return alone.claim({
      putOff: () => putOffSuspect(pool, { shard, subscribers, ms: isolation.waitMs }),
      keyOf: ({ subscriber }) => subscriber,
      claim: claimOne,
      start,
    })
  }

  async function claimOne(suspect: Suspect, worker: number): Promise<ClaimedJob | undefined> {
    const job = await claimSuspect(pool, suspect, worker)
    return job && (await openPayloads(vault, [job]))[0]
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
