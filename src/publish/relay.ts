import type { Pool } from 'pg'
import { groupCommit } from '../ledger/group-commit.ts'
import { firstWaiting } from '../ledger/outbox.ts'
import {
  type ClaimedLane,
  claimLanes,
  dueLanes,
  type LaneRef,
  type LaneSettlement,
  lanesLeasedTo,
  settleLanes,
} from '../ledger/outbox-lanes.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Publish } from '../publishers/contract.ts'
import { bell } from '../work/bell.ts'
import { claimLoop } from '../work/claim-loop.ts'
import { Draining, Interruption } from '../work/interruption.ts'
import { takeLease } from '../work/lease.ts'
import { persistently } from '../work/persistently.ts'
import type { RetryPolicy } from '../work/retry.ts'
import { withinMs } from '../work/within.ts'
import { type LaneRun, runLane } from './lane-run.ts'

/** Who carries on the messages of some topics. */
export interface TopicPublisher {
  readonly takes: (topic: string) => boolean
  readonly publish: Publish
}

export interface RelayOptions {
  readonly pool: Pool
  readonly shards: number
  /** The first that takes a topic publishes its messages. */
  readonly publishers: readonly TopicPublisher[]
  /** Lanes in flight for each publisher: one that hangs takes nothing from the others. */
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly leaseMs: number
  /** How long an idle relay waits before it looks again. What this process commits is not waited for. */
  readonly pollMs: number
  readonly observer: Observer
}

/**
 * Publishes what waits in the outbox, whatever became of the jobs that it came of. It claims lanes, publishes the
 * messages of each in their order, and marks them; lanes run beside each other. Its lease is one of its own, and
 * every mark carries the lane's fence.
 */
export interface Relay {
  /** Its id among the workers while its lease holds. */
  readonly id: number | undefined
  /** There are messages that nobody was told of. */
  wake(): void
  /** Finishes what is being published, hands the rest back, and leaves. */
  stop(drainMs: number): Promise<void>
}

/** One lease of a lane carries at most this many messages: after a crash, all that were not marked come again. */
const MAX_RUN = 20
/** One claim leases at most this many lanes: what a single process can lose should stay small. */
const MAX_CLAIM = 100
const MAX_MARKS = 500
/** A lease that this relay does not know of, this long after it began, comes from a commit whose reply was lost. */
const STRAY_AFTER_MS = 30_000
/** After the abort at the end of a drain: time for a publisher that honours its signal. */
const ABORT_GRACE_MS = 1_000

export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { pool, observer, shards, concurrency, publishers } = options
  const inFlight = new Map<string, LaneRun>()
  const free = new Map(publishers.map((publisher) => [publisher, concurrency]))
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const nudge = bell()
  /** Due messages may be waiting. */
  let backlog = true
  let suspectRunning = false

  const marks = groupCommit(
    async (batch: readonly LaneSettlement[]) => {
      const persistence = {
        doing: `settling ${batch.length} lanes of the outbox`,
        observer,
        signal: givingUp.signal,
      }
      return (await persistently(() => settleLanes(pool, batch), persistence)) ?? batch.map(() => false)
    },
    { maxItems: MAX_MARKS },
  )
  const lease = await takeLease({
    db: pool,
    leaseMs: options.leaseMs,
    observer,
    onLost: () => abortAll(new HookonceError('LEASE_LOST', 'this relay was silent for too long')),
    onBeat: returnStrays,
  })
  const claiming = claimLoop({
    claim: claimOnce,
    doing: 'claiming lanes of the outbox',
    pollMs: options.pollMs,
    nudge,
    observer,
    stopping: stopping.signal,
  })

  function publisherOf(topic: string): TopicPublisher | undefined {
    return publishers.find(({ takes }) => takes(topic))
  }

  function wake(): void {
    backlog = true
    nudge.ring()
  }

  function abortAll(reason: Error): void {
    for (const run of inFlight.values()) run.interruption.interrupt(reason)
  }

  // --- slots

  function take(publisher: TopicPublisher, count: number): void {
    free.set(publisher, (free.get(publisher) ?? 0) - count)
  }

  /** Shares the free slots out among topics, and takes them. */
  function takeSlots(topics: readonly string[], most: number): Map<string, number> {
    const slots = new Map<string, number>()
    let left = most
    for (const topic of topics) {
      const publisher = publisherOf(topic)
      const share = publisher ? Math.min(free.get(publisher) ?? 0, left) : 0
      if (!publisher || share <= 0) continue
      slots.set(topic, share)
      take(publisher, share)
      left -= share
    }
    return slots
  }

  function returnSlots(topic: string, count: number): void {
    const publisher = publisherOf(topic)
    if (publisher) take(publisher, -count)
  }

  // --- claiming

  /** Claims for the free slots, shard by shard. Returns how many lanes were claimed. */
  async function claimOnce(): Promise<number> {
    if (lease.worker === undefined || ![...free.values()].some((slots) => slots > 0)) return 0
    const due = await dueLanes(pool, shards)
    backlog = due.some(({ topics, suspects }) => [...topics, ...suspects].some(publisherOf))
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
    const worker = lease.worker
    if (worker === undefined || topics.length === 0 || stopping.signal.aborted) return 0
    const slots = takeSlots(topics, suspects ? 1 : MAX_CLAIM)
    if (slots.size === 0) return 0
    const lanes = await claimLanes(pool, { shard, worker, slots, suspects }).catch((error) => {
      for (const [topic, count] of slots) returnSlots(topic, count)
      throw error
    })
    for (const [topic, count] of slots) {
      returnSlots(topic, count - lanes.filter((lane) => lane.topic === topic).length)
    }
    if (suspects) suspectRunning = lanes.length > 0
    await startLanes(lanes, { worker, limit: suspects ? 1 : MAX_RUN })
    return lanes.length
  }

  async function startLanes(
    lanes: readonly ClaimedLane[],
    { worker, limit }: { worker: number; limit: number },
  ): Promise<void> {
    const [first] = lanes
    if (!first) return
    const question = { shard: first.shard, lanes: lanes.map(({ lane }) => lane), limit }
    const waiting = await firstWaiting(pool, question).catch((error) => {
      for (const lane of lanes) void leaveUnstarted(lane).finally(() => ended(lane))
      throw error
    })
    for (const lane of lanes) {
      const messages = waiting.filter((message) => message.lane === lane.lane)
      const publish = publisherOf(lane.topic)?.publish
      if (!publish) throw new Error(`claimed a lane of "${lane.topic}", which this process does not publish`)
      start(
        { lane, messages, isAll: messages.length < limit, publish, interruption: new Interruption() },
        worker,
      )
    }
  }

  function start(run: LaneRun, worker: number): void {
    const key = keyOf(run.lane)
    inFlight.set(key, run)
    const { timeoutMs, retry } = options
    const mayGoOn = (): boolean => worker === lease.worker && !stopping.signal.aborted
    void runLane(run, { timeoutMs, retry, mayGoOn, settle: marks.add, observer }).finally(() => {
      inFlight.delete(key)
      // There is more in this lane, and it is due at once.
      if (!run.isAll) backlog = true
      ended(run.lane)
    })
  }

  function ended({ topic, crashes }: ClaimedLane): void {
    if (crashes > 0) {
      suspectRunning = false
      backlog = true
    }
    returnSlots(topic, 1)
    if (backlog || stopping.signal.aborted) nudge.ring()
  }

  // --- giving back

  async function leaveUnstarted(lane: LaneRef & { attempt: number }): Promise<void> {
    const left = { attempt: lane.attempt - 1, delayMs: 0, reason: undefined }
    const { shard, fence } = lane
    await marks.add({
      shard,
      lane: lane.lane,
      fence,
      doneTo: 0,
      first: 0,
      attempt: 0,
      failure: undefined,
      left,
    })
  }

  async function returnStrays(worker: number): Promise<void> {
    const leased = await lanesLeasedTo(pool, { shards, worker, olderThanMs: STRAY_AFTER_MS })
    await Promise.all(leased.filter((lane) => !inFlight.has(keyOf(lane))).map(leaveUnstarted))
  }

  // --- the end

  async function stop(drainMs: number): Promise<void> {
    stopping.abort()
    nudge.ring()
    const drained = allEnded()
    await withinMs(drained, drainMs)
    abortAll(new Draining('this process is stopping'))
    await withinMs(drained, ABORT_GRACE_MS)
    givingUp.abort()
    await claiming
    await marks.idle()
    await lease.retire().catch((error) => observer.trouble({ doing: 'retiring this relay', error }))
  }

  async function allEnded(): Promise<void> {
    await claiming
    while (inFlight.size > 0 && !givingUp.signal.aborted) {
      nudge.reset()
      await nudge.wait(ABORT_GRACE_MS)
    }
  }

  return {
    get id() {
      return stopping.signal.aborted ? undefined : lease.worker
    },
    wake,
    stop,
  }
}

// With the fence: a run that lost its lease may still be ending while this relay holds the lane anew.
function keyOf({ lane, fence }: LaneRef): string {
  return `${lane}/${fence}`
}
