import type { Pool } from 'pg'
import {
  type ClaimedLane,
  claimLanes,
  claimSuspectLane,
  dueLanes,
  putOffLane,
} from '../ledger/outbox/lanes.ts'
import { firstWaiting, type WaitingMessage } from '../ledger/outbox/messages.ts'
import { type Claimer, type ClaimLoopOptions, claimLoop } from '../work/claim-loop.ts'
import type { Isolation } from '../work/isolation.ts'
import type { PublisherSlots } from './slots.ts'

export interface LaneClaimerOptions extends Omit<ClaimLoopOptions, 'claim' | 'doing'> {
  readonly pool: Pool
  readonly shards: number
  readonly slots: PublisherSlots
  readonly isolation: Isolation
  /** The worker to lease lanes to; undefined while nothing may be started. */
  readonly worker: () => number | undefined
  /** The same for a lane that runs alone, while nothing else may be started. */
  readonly workerAlone: () => number | undefined
  /**
   * Takes over a lane that was leased to `worker`, with the slot that was taken for it, until it
   * has ended.
   */
  readonly start: (claimed: LaneWithMessages, worker: number) => Promise<void>
  /**
   * Takes over a lane, with its slot, whose messages could not be read, until it is handed back.
   */
  readonly leave: (lane: ClaimedLane) => Promise<void>
  /** Hands back whatever is leased to `worker`. Nothing runs now. */
  readonly returnAll: (worker: number) => Promise<void>
}

/** A leased lane with its first messages. */
export interface LaneWithMessages {
  readonly lane: ClaimedLane
  readonly messages: readonly WaitingMessage[]
  /** The lane holds no more than these, as far as could be seen when it was claimed. */
  readonly isAll: boolean
}

/**
 * One lease of a lane carries at most this many messages: after a crash, all that were not marked
 * come again.
 */
const MAX_RUN = 20
/** One claim leases at most this many lanes: what a single process can lose should stay small. */
const MAX_CLAIM = 100

export function startLaneClaimer(options: LaneClaimerOptions): Claimer {
  const { pool, shards, slots, isolation } = options
  let backlog = true
  let aloneAt = 0

  /** Claims for the free slots, shard by shard. Returns how many lanes were claimed. */
  async function claimOnce(): Promise<number> {
    if (options.worker() === undefined || !slots.areAnyFree) return 0
    const due = await dueLanes(pool, shards)
    backlog = due.some(({ topics, suspects }) => [...topics, ...suspects].some(slots.publisherOf))
    let claimed = 0
    for (const { shard, topics, suspects } of due) {
      claimed += await claimIn(shard, topics, false)
      claimed += await claimIn(shard, suspects, true)
    }
    for (const { shard, alone } of due) claimed += await claimAlone(shard, alone.filter(slots.publisherOf))
    return claimed
  }

  /**
   * A lane that was in flight when its relay died is a suspect: one message of it at a time, and at
   * last while nothing else runs in this process, so that a message that kills its process is found
   * out. model/suspects.ts has the rule.
   */
  async function claimAlone(shard: number, topics: readonly string[]): Promise<number> {
    if (topics.length === 0 || performance.now() < aloneAt) return 0
    const suspect = await putOffLane(pool, { shard, topics, ms: isolation.waitMs })
    if (!suspect) return 0
    const startedAt = performance.now()
    let count = 0
    await isolation.alone(async () => {
      const worker = options.workerAlone()
      if (worker === undefined || slots.share([suspect.topic], 1).size === 0) return
      const lane = await claimSuspectLane(pool, suspect, worker).catch(async (error) => {
        // It may be leased all the same. Nothing else may start before it is handed back: a death
        // would be blamed on it.
        await options.returnAll(worker)
        slots.giveBack(suspect.topic, 1)
        throw error
      })
      if (!lane) return slots.giveBack(suspect.topic, 1)
      count = 1
      for (const claimed of await withMessages([lane], 1)) await options.start(claimed, worker)
    }, options.stopping)
    // Other work gets as much time as it was kept waiting, however many suspects there are.
    aloneAt = performance.now() + (performance.now() - startedAt)
    return count
  }

  async function claimIn(shard: number, topics: readonly string[], suspects: boolean): Promise<number> {
    const worker = options.worker()
    if (worker === undefined || topics.length === 0) return 0
    const shares = slots.share(topics, MAX_CLAIM)
    if (shares.size === 0) return 0
    const lanes = await claimLanes(pool, { shard, worker, slots: shares, suspects }).catch((error) => {
      for (const [topic, count] of shares) slots.giveBack(topic, count)
      throw error
    })
    for (const [topic, count] of shares) {
      slots.giveBack(topic, count - lanes.filter((lane) => lane.topic === topic).length)
    }
    const limit = suspects ? 1 : MAX_RUN
    for (const claimed of await withMessages(lanes, limit)) void options.start(claimed, worker)
    return lanes.length
  }

  /** Of lanes of one shard. */
  async function withMessages(lanes: readonly ClaimedLane[], limit: number): Promise<LaneWithMessages[]> {
    const [first] = lanes
    if (!first) return []
    const question = { shard: first.shard, lanes: lanes.map(({ lane }) => lane), limit }
    const waiting = await firstWaiting(pool, question).catch(async (error) => {
      await Promise.all(lanes.map(options.leave))
      throw error
    })
    return lanes.map((lane) => {
      const messages = waiting.filter((message) => message.lane === lane.lane)
      return { lane, messages, isAll: messages.length < limit }
    })
  }

  return {
    get backlog() {
      return backlog
    },
    lookAnew() {
      backlog = true
    },
    ended: claimLoop({ ...options, claim: claimOnce, doing: 'claiming lanes of the outbox' }),
  }
}
