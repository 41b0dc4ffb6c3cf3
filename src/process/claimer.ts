import { type Claim, claimJobs, type DueShard, dueShards } from '../ledger/jobs/claim.ts'
import { type Claimer, claimLoop } from '../work/claim-loop.ts'
import { claimForShares, type Shares } from '../work/slots.ts'
import type { Circuits } from './circuits.ts'
import { openPayloads } from './open-payloads.ts'
import type { Rates } from './rates.ts'
import { type SuspectClaimerOptions, suspectClaimer } from './suspects.ts'

export interface ClaimerOptions extends SuspectClaimerOptions {
  readonly shards: number
  readonly circuits: Circuits
  readonly rates: Rates
}

/** Claims due jobs. */
export interface JobClaimer extends Claimer {
  /** Another process announced due jobs in these shards, so they need no search. */
  expect(places: readonly DueShard[]): void
}

/** The limit on jobs per claim: a process that dies should hold few. */
const MAX_CLAIM = 100
/**
 * A claim for one slot costs nearly as much as a claim for fifty. So while most slots are taken, a
 * claim waits this long for more free slots.
 */
const GATHER_MS = 5

export function startClaimer(options: ClaimerOptions): JobClaimer {
  const { pool, vault, slots, rates } = options
  // While PostgreSQL executes one claim, this process starts the jobs of the other claim. With few
  // slots, two claims would compete for them.
  const atOnce = slots.total < 2 * MAX_CLAIM ? 1 : 2
  const suspects = suspectClaimer(options)
  let backlog = true
  let due = new Map<number, DueShard>()
  let dueUntil = 0

  /** Claims jobs for the free slots. Returns how many jobs were claimed. */
  async function claimOnce(): Promise<number> {
    let count = await options.circuits.claim()
    if (slots.free === 0 || options.worker() === undefined) return count
    count += await suspects.claim()
    await findDue()
    for (;;) {
      const before = due.size
      count += await claimRound().finally(rates.giveBack)
      // Slots that were left to another subscriber may not have been needed.
      if (due.size === before || due.size === 0 || slots.free === 0) return count
    }
  }

  /** Claims for the free slots, shard by shard. */
  async function claimRound(): Promise<number> {
    let count = 0
    const underWay: Promise<number>[] = []
    async function awaitOldest(): Promise<void> {
      count += (await underWay.shift()) ?? 0
    }
    try {
      for (const { shard, subscribers } of [...due.values()]) {
        await slots.roomy(GATHER_MS)
        const worker = options.worker()
        if (worker === undefined) break
        let wanted = await roomFor(subscribers)
        // A claim releases the slots for which it found no jobs.
        while (wanted.size === 0 && underWay.length > 0) {
          await awaitOldest()
          wanted = await roomFor(subscribers)
        }
        if (wanted.size === 0) continue
        const claim = claimIn({ shard, worker, slots: wanted })
        // Prevents an unhandled rejection: the promise may reject before it is awaited below.
        claim.catch(() => undefined)
        underWay.push(claim)
        if (underWay.length === atOnce) await awaitOldest()
      }
      while (underWay.length > 0) await awaitOldest()
    } finally {
      await Promise.allSettled(underWay)
    }
    return count
  }

  /** Takes slots, and tokens for the slots whose subscriber has a rate. */
  async function roomFor(subscribers: readonly number[]): Promise<Shares<number>> {
    const keys = subscribers.filter(rates.hasTokens)
    const withWork = new Set([...due.values()].flatMap((place) => place.subscribers))
    const rivals = [...withWork].filter(rates.hasTokens)
    return rates.trim(slots.share(keys, MAX_CLAIM, rivals), rivals)
  }

  /**
   * Finds the shards with due work. Searches again when all found work is claimed, or at the next
   * poll.
   */
  async function findDue(): Promise<void> {
    if (due.size > 0 && performance.now() < dueUntil) return
    const { shards, subscribers } = options
    const found = await dueShards(pool, { shards, subscribers })
    due = new Map(shuffled(found).map((entry) => [entry.shard, entry]))
    dueUntil = performance.now() + options.pollMs
    backlog = due.size > 0
  }

  /**
   * A shard that is added during a claim or a search may be lost. That is safe: the bell rang, so
   * another search follows.
   */
  function expect(places: readonly DueShard[]): void {
    backlog = true
    for (const { shard, subscribers } of places) {
      // Anyone who can reach the database can announce jobs, so the shard may be invalid.
      if (shard >= options.shards) continue
      const known = due.get(shard)?.subscribers ?? []
      const more = subscribers.filter((id) => options.subscribers.includes(id) && !known.includes(id))
      if (more.length > 0) due.set(shard, { shard, subscribers: [...known, ...more] })
    }
  }

  /** The caller has already taken the slots. */
  async function claimIn(claim: Claim): Promise<number> {
    const jobs = await claimForShares(slots, claim.slots, {
      claim: async () => openPayloads(vault, await claimJobs(pool, claim)),
      keyOf: (job) => job.subscriber,
    })
    rates.claimed(claim.slots, jobs)
    // The claim found fewer jobs than slots, so this shard has no more due jobs.
    if (jobs.length < sum(claim.slots.values())) due.delete(claim.shard)
    for (const job of jobs) void options.start(job, claim.worker)
    return jobs.length
  }

  return {
    get backlog() {
      return backlog
    },
    lookAnew() {
      backlog = true
      dueUntil = 0
      suspects.lookAnew()
    },
    expect,
    ended: claimLoop({ ...options, claim: claimOnce, doing: 'claiming due jobs' }),
  }
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

// A random start. Otherwise all workers would start at shard 0 and compete there.
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
