import type { Pool } from 'pg'
import {
  type ClaimedLane,
  type LaneRef,
  type LaneSettlement,
  lanesLeasedTo,
  settleLanes,
} from '../ledger/outbox/lanes.ts'
import type { Observer } from '../observe/observer.ts'
import { groupCommit } from '../work/group-commit.ts'
import { Interruption } from '../work/interruption.ts'
import type { Isolation } from '../work/isolation.ts'
import { leasedRuns } from '../work/leased-runs.ts'
import { persistently } from '../work/persistently.ts'
import type { RetryPolicy } from '../work/retry.ts'
import { slotsOf } from '../work/slots.ts'
import type { TimeLimit } from '../work/within.ts'
import { type LaneWithMessages, startLaneClaimer } from './lane-claimer.ts'
import { runLane } from './lane-run.ts'
import type { TopicPublisher } from './publishers.ts'

export interface RelayOptions {
  readonly pool: Pool
  readonly shards: number
  /** The first publisher that matches a topic publishes its messages. */
  readonly publishers: readonly TopicPublisher[]
  /**
   * The number of lanes in flight for each publisher: a publisher that hangs takes no slot from
   * others.
   */
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly leaseMs: number
  /** How often an idle relay looks for messages. Messages of this process wake it at once. */
  readonly pollMs: number
  /** The heartbeat of the whole process. */
  readonly isolation: Isolation
  readonly observer: Observer
}

/**
 * Publishes the messages of the outbox, independent of the jobs that wrote them. It claims lanes
 * (lane-claimer.ts), publishes the messages of each lane in order (lane-run.ts), and marks them;
 * lanes run in parallel. It has its own lease, and every mark carries the lane's fence.
 */
export interface Relay {
  /** Its id among the workers while its lease holds. */
  readonly id: number | undefined
  /** How long its heartbeats have been answered without interruption. */
  readonly contactMs: number
  /** Looks for messages soon. */
  wake(): void
  /** Finishes the messages in flight, hands the other lanes back, and ends the lease. */
  stop(limit: TimeLimit): Promise<void>
}

/** The limit on lanes per statement. More would only make its locks last longer. */
const MAX_MARKS = 500

export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { pool, observer, shards, isolation, publishers, concurrency, timeoutMs, retry } = options
  const slots = slotsOf({
    total: concurrency * publishers.length,
    groupOf: publisherOf,
    limitOf: () => concurrency,
  })
  const runs = leasedRuns({
    name: 'relay',
    db: pool,
    leaseMs: options.leaseMs,
    serves: [],
    slots,
    isolation,
    observer,
    keyOf,
    leasedTo: (question) => lanesLeasedTo(pool, { shards, ...question }),
    handBack,
  })
  const marks = groupCommit(
    async (batch: readonly LaneSettlement[]) => {
      const doing = `settling ${batch.length} lanes of the outbox`
      const persistence = { doing, observer, signal: runs.givingUp }
      return (await persistently(() => settleLanes(pool, batch), persistence)) ?? batch.map(() => false)
    },
    { maxItems: MAX_MARKS },
  )
  const claimer = await runs.begin((terms) =>
    startLaneClaimer({
      ...terms,
      pool,
      shards,
      slots,
      publishes: (topic) => publisherOf(topic) !== undefined,
      pollMs: options.pollMs,
      start,
      leave,
    }),
  )

  function publisherOf(topic: string): TopicPublisher | undefined {
    return publishers.find(({ takes }) => takes(topic))
  }

  function wake(): void {
    claimer.lookAnew()
    runs.nudge()
  }

  /** Resolves when the lane has been settled. */
  function start(claimed: LaneWithMessages, worker: number): Promise<void> {
    const { lane, isAll } = claimed
    const mayGoOn = (): boolean => runs.mayStart(worker, lane.crashes)
    if (!mayGoOn()) return leave(lane)
    const publish = publisherOf(lane.topic)?.publish
    if (!publish) throw new Error(`claimed a lane of "${lane.topic}", which this process does not publish`)
    const run = { ...claimed, publish, interruption: new Interruption() }
    const key = runs.add(lane, run.interruption)
    return runLane(run, { timeoutMs, retry, mayGoOn, settle: marks.add, observer }).finally(() => {
      runs.remove(key)
      // More messages wait in this lane, and are due at once.
      if (!isAll) claimer.lookAnew()
      freeSlot(lane)
    })
  }

  function freeSlot({ topic }: ClaimedLane): void {
    slots.giveBack(topic, 1)
    runs.slotFreed()
  }

  /** Hands a lane back that was not started, with its slot. */
  function leave(lane: ClaimedLane): Promise<void> {
    return handBack(lane).finally(() => freeSlot(lane))
  }

  async function handBack({ shard, lane, fence, attempt }: LeasedLane): Promise<void> {
    const left = { attempt: attempt - 1, delayMs: 0, reason: undefined }
    await marks.add({ shard, lane, fence, doneTo: 0, first: 0, attempt: 0, failure: undefined, left })
  }

  async function stop(limit: TimeLimit): Promise<void> {
    await runs.drain(limit)
    await marks.idle()
    await runs.retire()
  }

  return {
    get id() {
      return runs.worker
    },
    get contactMs() {
      return runs.contactMs
    },
    wake,
    stop,
  }
}

type LeasedLane = LaneRef & { readonly attempt: number }

function keyOf({ lane, fence }: LaneRef): string {
  return `${lane}/${fence}`
}
