import type { Pool } from 'pg'
import {
  type ClaimedLane,
  type LaneRef,
  type LaneSettlement,
  lanesLeasedTo,
  settleLanes,
} from '../ledger/outbox/lanes.ts'
import { HookonceError } from '../model/errors.ts'
import { ALONE_FROM } from '../model/suspects.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'
import { groupCommit } from '../work/group-commit.ts'
import { Draining, Interruption } from '../work/interruption.ts'
import type { Isolation } from '../work/isolation.ts'
import { takeLease } from '../work/lease.ts'
import { persistently } from '../work/persistently.ts'
import type { RetryPolicy } from '../work/retry.ts'
import { withinMs } from '../work/within.ts'
import { type LaneWithMessages, startLaneClaimer } from './lane-claimer.ts'
import { type LaneRun, runLane } from './lane-run.ts'
import type { TopicPublisher } from './publishers.ts'
import { publisherSlots } from './slots.ts'

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
  /**
   * How long an idle relay waits before it looks again. What this process commits is not waited
   * for.
   */
  readonly pollMs: number
  /** Of the whole process. */
  readonly isolation: Isolation
  readonly observer: Observer
}

/**
 * Publishes what waits in the outbox, whatever became of the jobs that it came of. It claims lanes
 * (lane-claimer.ts), publishes the messages of each in their order (lane-run.ts), and marks them;
 * lanes run beside each other. Its lease is one of its own, and every mark carries the lane's
 * fence.
 */
export interface Relay {
  /** Its id among the workers while its lease holds. */
  readonly id: number | undefined
  /** How long its heartbeats have been answered without a break. */
  readonly contactMs: number
  /** There are messages that nobody was told of. */
  wake(): void
  /** Finishes what is being published, hands the rest back, and leaves. */
  stop(drainMs: number): Promise<void>
}

const MAX_MARKS = 500
/**
 * A lease that this relay does not know of, this long after it began, comes from a commit whose
 * reply was lost.
 */
const STRAY_AFTER_MS = 30_000
/** After the abort at the end of a drain: time for a publisher that honours its signal. */
const ABORT_GRACE_MS = 1_000

export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { pool, observer, shards, isolation } = options
  const inFlight = new Map<string, LaneRun>()
  const slots = publisherSlots(options.publishers, options.concurrency)
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const nudge = bell()

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
    serves: [],
    observer,
    onLost: () => abortAll(new HookonceError('LEASE_LOST', 'this relay was silent for too long')),
    onBeat: (worker) => returnStrays(worker, STRAY_AFTER_MS),
  })
  isolation.join({ isIdle: () => inFlight.size === 0 && slots.areAllFree, onOpen: wake })
  const claimer = startLaneClaimer({
    pool,
    shards,
    slots,
    isolation,
    worker: idToLeaseTo,
    workerAlone: idUnlessStopping,
    start,
    leave,
    returnAll,
    pollMs: options.pollMs,
    nudge,
    observer,
    stopping: stopping.signal,
  })

  function idToLeaseTo(): number | undefined {
    return isolation.isClosed ? undefined : idUnlessStopping()
  }

  function idUnlessStopping(): number | undefined {
    return stopping.signal.aborted ? undefined : lease.worker
  }

  function wake(): void {
    claimer.lookAnew()
    nudge.ring()
  }

  function abortAll(reason: Error): void {
    for (const run of inFlight.values()) run.interruption.interrupt(reason)
  }

  // --- running

  /** Until it has ended. */
  function start(claimed: LaneWithMessages, worker: number): Promise<void> {
    const { lane, isAll } = claimed
    const mayGoOn = (): boolean =>
      worker === (lane.crashes >= ALONE_FROM ? idUnlessStopping() : idToLeaseTo())
    if (!mayGoOn()) return leave(lane)
    const publish = slots.publisherOf(lane.topic)?.publish
    if (!publish) throw new Error(`claimed a lane of "${lane.topic}", which this process does not publish`)
    const key = keyOf(lane)
    const run = { ...claimed, publish, interruption: new Interruption() }
    inFlight.set(key, run)
    const { timeoutMs, retry } = options
    return runLane(run, { timeoutMs, retry, mayGoOn, settle: marks.add, observer }).finally(() => {
      inFlight.delete(key)
      // There is more in this lane, and it is due at once.
      if (!isAll) claimer.lookAnew()
      ended(lane)
    })
  }

  function ended({ topic }: ClaimedLane): void {
    slots.giveBack(topic, 1)
    isolation.changed()
    if (claimer.backlog || stopping.signal.aborted) nudge.ring()
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

  function leave(lane: ClaimedLane): Promise<void> {
    return leaveUnstarted(lane).finally(() => ended(lane))
  }

  async function returnStrays(worker: number, olderThanMs: number): Promise<void> {
    const leased = await lanesLeasedTo(pool, { shards, worker, olderThanMs })
    await Promise.all(leased.filter((lane) => !inFlight.has(keyOf(lane))).map(leaveUnstarted))
  }

  async function returnAll(worker: number): Promise<void> {
    const persistence = { doing: 'handing back a lane of the outbox', observer, signal: givingUp.signal }
    await persistently(() => returnStrays(worker, 0), persistence)
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
    await claimer.ended
    await marks.idle()
    await lease.retire().catch((error) => observer.trouble({ doing: 'retiring this relay', error }))
  }

  async function allEnded(): Promise<void> {
    await claimer.ended
    while (inFlight.size > 0 && !givingUp.signal.aborted) {
      nudge.reset()
      await nudge.wait(ABORT_GRACE_MS)
    }
  }

  return {
    get id() {
      return idToLeaseTo()
    },
    get contactMs() {
      return lease.contactMs
    },
    wake,
    stop,
  }
}

// With the fence: a run that lost its lease may still be ending while this relay holds the lane
// anew.
function keyOf({ lane, fence }: LaneRef): string {
  return `${lane}/${fence}`
}
