import type { Pool } from 'pg'
import { firstWaiting, type WaitingMessage } from '../ledger/outbox.ts'
import { type ClaimedLane, claimLanes, dueLanes } from '../ledger/outbox-lanes.ts'
import { type Claimer, type ClaimLoopOptions, claimLoop } from '../work/claim-loop.ts'
import type { PublisherSlots } from './slots.ts'

export interface LaneClaimerOptions extends Omit<ClaimLoopOptions, 'claim' | 'doing'> {
  readonly pool: Pool
  readonly shards: number
  readonly slots: PublisherSlots
  /** The worker to lease lanes to; undefined while nothing may be started. */
  readonly worker: () => number | undefined
  /** Takes over a lane that was leased to `worker`, with the slot that was taken for it. */
  readonly start: (claimed: LaneWithMessages, worker: number) => void
  /** Takes over a lane, with its slot, whose messages could not be read. */
  readonly leave: (lane: ClaimedLane) => void
}

/** A leased lane with its first messages. */
export interface LaneWithMessages {
  readonly lane: ClaimedLane
  readonly messages: readonly WaitingMessage[]
  /** The lane holds no more than these, as far as could be seen when it was claimed. */
  readonly isAll: boolean
}

/** One lease of a lane carries at most this many messages: after a crash, all that were not marked come again. */
const MAX_RUN = 20
/** One claim leases at most this many lanes: what a single process can lose should stay small. */
const MAX_CLAIM = 100

export function startLaneClaimer(options: LaneClaimerOptions): Claimer {
  const { pool, shards, slots } = options
  let backlog = true
  let suspectRunning = false

  /** Claims for the free slots, shard by shard. Returns how many lanes were claimed. */
  async function claimOnce(): Promise<number> {
    if (options.worker() === undefined || !slots.areAnyFree) return 0
    const due = await dueLanes(pool, shards)
    backlog = due.some(({ topics, suspects }) => [...topics, ...suspects].some(slots.publisherOf))
    let claimed = 0
    for (const { shard, topics, suspects } of due) {
      claimed += await claimIn(shard, topics, false)
      if (!suspectRunning) claimed += await claimIn(shard, suspects, true)
    }
    return claimed
  }

  /**
   * A lane that was in flight when its relay died is a suspect: one at a time, and one message of it, so that a
   * message that kills its process is found out by its own crashes.
   */
  async function claimIn(shard: number, topics: readonly string[], suspects: boolean): Promise<number> {
    const worker = options.worker()
    if (worker === undefined || topics.length === 0) return 0
    const shares = slots.share(topics, suspects ? 1 : MAX_CLAIM)
    if (shares.size === 0) return 0
    const lanes = await claimLanes(pool, { shard, worker, slots: shares, suspects }).catch((error) => {
      for (const [topic, count] of shares) slots.giveBack(topic, count)
      throw error
    })
    for (const [topic, count] of shares) {
      slots.giveBack(topic, count - lanes.filter((lane) => lane.topic === topic).length)
    }
    if (suspects) suspectRunning = lanes.length > 0
    const limit = suspects ? 1 : MAX_RUN
    for (const claimed of await withMessages(lanes, limit)) options.start(claimed, worker)
    return lanes.length
  }

  /** Of lanes of one shard. */
  async function withMessages(lanes: readonly ClaimedLane[], limit: number): Promise<LaneWithMessages[]> {
    const [first] = lanes
    if (!first) return []
    const question = { shard: first.shard, lanes: lanes.map(({ lane }) => lane), limit }
    const waiting = await firstWaiting(pool, question).catch((error) => {
      for (const lane of lanes) options.leave(lane)
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
    suspectEnded() {
      suspectRunning = false
    },
    ended: claimLoop({ ...options, claim: claimOnce, doing: 'claiming lanes of the outbox' }),
  }
}
