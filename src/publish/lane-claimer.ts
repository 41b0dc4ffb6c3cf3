import type { Pool } from 'pg'
import {
  type ClaimedLane,
  claimLanes,
  claimSuspectLane,
  dueLanes,
  putOffLane,
} from '../ledger/outbox/lanes.ts'
import { firstWaiting, type WaitingMessage } from '../ledger/outbox/messages.ts'
import { aloneClaimer } from '../work/claim-alone.ts'
import { type Claimer, type ClaimTerms, claimLoop } from '../work/claim-loop.ts'
import { claimForShares, type Slots } from '../work/slots.ts'

export interface LaneClaimerOptions extends ClaimTerms {
  readonly pool: Pool
  readonly shards: number
  /** The publishers of this process, found by topic. */
  readonly slots: Slots<string>
  /** Whether this process publishes messages of this topic. */
  readonly publishes: (topic: string) => boolean
  readonly pollMs: number
  /** Takes over a lane that was leased to `worker`, together with its slot, until it has ended. */
  readonly start: (claimed: LaneWithMessages, worker: number) => Promise<void>
  /**
   * Takes over a lane, with its slot, whose messages could not be read, until it is handed back.
   */
  readonly leave: (lane: ClaimedLane) => Promise<void>
}

/** A leased lane with its first messages. */
export interface LaneWithMessages {
  readonly lane: ClaimedLane
  readonly messages: readonly WaitingMessage[]
  /** Whether the lane held only these messages when it was claimed. */
  readonly isAll: boolean
}

/**
 * The limit on messages per lease of a lane: after a crash, messages that were not marked are
 * published again.
 */
const MAX_RUN = 20
/** The limit on lanes per claim: a process that dies should hold few. */
const MAX_CLAIM = 100

export function startLaneClaimer(options: LaneClaimerOptions): Claimer {
  const { pool, shards, slots, isolation, publishes } = options
  const alone = aloneClaimer(options)
  let backlog = true

  /** Claims lanes for the free slots, shard by shard. Returns the number of claimed lanes. */
  async function claimOnce(): Promise<number> {
    if (options.worker() === undefined || slots.free === 0) return 0
    const dueByShard = await dueLanes(pool, shards)
    backlog = dueByShard.some(({ topics, suspects }) => [...topics, ...suspects].some(publishes))
    let claimed = 0
    for (const { shard, topics, suspects } of dueByShard) {
      claimed += await claimIn(shard, topics, false)
      claimed += await claimIn(shard, suspects, true)
    }
    for (const due of dueByShard) claimed += await claimAlone(due.shard, due.alone.filter(publishes))
    return claimed
  }

  /**
   * A lane that was in flight when its relay died is a suspect. Its messages are published one at a
   * time, and finally while nothing else runs in this process, so that a message that kills its
   * process is identified. model/suspects.ts has the rule.
   */
  async function claimAlone(shard: number, topics: readonly string[]): Promise<number> {
    if (topics.length === 0 || alone.isResting) return 0
    return alone.claim({
      putOff: () => putOffLane(pool, { shard, topics, ms: isolation.waitMs }),
      keyOf: ({ topic }) => topic,
      claim: (suspect, worker) => claimSuspectLane(pool, suspect, worker),
      async start(lane, worker) {
        for (const claimed of await withMessages([lane], 1)) await options.start(claimed, worker)
      },
    })
  }

  async function claimIn(shard: number, topics: readonly string[], suspects: boolean): Promise<number> {
    const worker = options.worker()
    if (worker === undefined || topics.length === 0) return 0
    const shares = slots.share(topics, MAX_CLAIM)
    if (shares.size === 0) return 0
    const lanes = await claimForShares(slots, shares, {
      claim: () => claimLanes(pool, { shard, worker, slots: shares, suspects }),
      keyOf: ({ topic }) => topic,
    })
    const limit = suspects ? 1 : MAX_RUN
    for (const claimed of await withMessages(lanes, limit)) void options.start(claimed, worker)
    return lanes.length
  }

  /** All lanes are of one shard. */
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
