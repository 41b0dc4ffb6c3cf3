import type { Pool } from 'pg'
import { hasHandedOver, NOTHING_HANDED_OVER } from '../effects/hand-over.ts'
import type { Outbox } from '../effects/message.ts'
import type { Listening, OnWork } from '../ledger/jobs/announce.ts'
import type { ClaimedJob, DueShard } from '../ledger/jobs/claim.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import { joinLane } from '../ledger/jobs/order.ts'
import { jobsLeasedTo } from '../ledger/jobs/rescue.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { ALONE_FROM } from '../model/suspects.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'
import { Draining } from '../work/interruption.ts'
import type { Isolation } from '../work/isolation.ts'
import { lanePasser } from '../work/lane-passer.ts'
import { takeLease } from '../work/lease.ts'
import { persistently } from '../work/persistently.ts'
import { withinMs } from '../work/within.ts'
import { attempt } from './attempt.ts'
import { startClaimer } from './claimer.ts'
import { bornLeasedRun, claimedRun, type Run } from './run.ts'
import type { CommitOutcome } from './settle/commit-writes.ts'
import { handedBack } from './settle/settlement.ts'
import { type Ending, settler } from './settle/settler.ts'
import { slotsOf } from './slots.ts'
import type { Subscriber } from './subscriber.ts'

export interface WorkerOptions {
  readonly pool: Pool
  /** For the transactions of handlers. */
  readonly business: Pool
  readonly writes: Pool
  readonly outbox: Outbox
  readonly shards: number
  readonly subscribers: readonly Subscriber[]
  /** Jobs in flight in this process. */
  readonly concurrency: number
  readonly leaseMs: number
  /**
   * How long an idle worker waits before it looks for work again. Work accepted here is not waited
   * for.
   */
  readonly pollMs: number
  /** Calls back when another process has left work. */
  readonly listen: ((onWork: OnWork) => Listening) | undefined
  /** Of the whole process. */
  readonly isolation: Isolation
  readonly observer: Observer
}

/**
 * Claims due jobs (claimer.ts), runs them (attempt.ts), settles them (settler.ts); and runs at once
 * what this process has just accepted.
 *
 * A job is started only while the lease is held. A job that was in flight when its worker died is a
 * suspect (suspects.ts): in the end it runs alone, so that a payload that kills its process is
 * found out, and its neighbours are not buried with it.
 */
export interface Worker {
  /** The id to lease new jobs to; undefined while nothing may be started. */
  readonly id: number | undefined
  /** How long its heartbeats have been answered without a break. */
  readonly contactMs: number
  /**
   * Takes a slot for a job that is about to be accepted. False: no room, let it wait in the ledger.
   */
  reserve(subscriber: number): boolean
  /** Gives a reserved slot back: the event was known already, or the job was held. */
  release(subscriber: number): void
  /** Runs a job that was born leased to `worker`, in the slot that was reserved for it. */
  runBornLeased(job: JobRef, worker: number, event: () => Event): void
  /** There is work in the ledger that nobody was told of. */
  wake(): void
  /** Finishes what is in flight, hands back what does not finish in time, and leaves. */
  stop(drainMs: number): Promise<void>
}

/**
 * A lease that this process does not know of, this long after it began, comes from a commit whose
 * reply was lost. Longer than any statement of ours waits for its answer.
 */
const STRAY_AFTER_MS = 30_000
/** So many runs that have ended may wait for their commit while others run in their slots. */
const MAX_WAITING = 256
/**
 * After the abort at the end of a drain: time for a handler that honours its signal to clean up.
 */
const ABORT_GRACE_MS = 1_000

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { pool, observer, shards, isolation } = options
  const business = { pool: options.business, shards, outbox: options.outbox }
  const subscribers = new Map(options.subscribers.map((subscriber) => [subscriber.id, subscriber]))
  const slots = slotsOf(subscribers, options.concurrency)
  const inFlight = new Map<string, Run>()
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const nudge = bell()
  const settling = settler({ pool, writes: options.writes, observer, signal: givingUp.signal })
  const passer = lanePasser(
    { pool, shards },
    { onDue: wake, onTrouble: (error) => observer.trouble({ doing: 'passing lanes on', error }) },
  )
  const lease = await takeLease({
    db: pool,
    leaseMs: options.leaseMs,
    serves: [...subscribers.keys()],
    observer,
    onLost: () => abortAll(new HookonceError('LEASE_LOST', 'this worker was silent for too long')),
    onBeat: (worker) => returnStrays(worker, STRAY_AFTER_MS),
  })
  isolation.join({ isIdle: () => inFlight.size === 0 && slots.areAllFree, onOpen: () => wake() })
  const claimer = startClaimer({
    pool,
    shards,
    subscribers: [...subscribers.keys()],
    slots,
    isolation,
    pollMs: options.pollMs,
    observer,
    worker: idToLeaseTo,
    workerAlone: idUnlessStopping,
    start: startClaimed,
    returnAll,
    nudge,
    stopping: stopping.signal,
  })
  const listening = options.listen?.(wake)

  function idToLeaseTo(): number | undefined {
    return isolation.isClosed ? undefined : idUnlessStopping()
  }

  function idUnlessStopping(): number | undefined {
    return stopping.signal.aborted ? undefined : lease.worker
  }

  function wake(places?: readonly DueShard[]): void {
    if (places) claimer.expect(places)
    else claimer.lookAnew()
    nudge.ring()
  }

  function freeSlot(id: number): void {
    slots.giveBack(id, 1)
    isolation.changed()
    // Without a backlog there is nothing to look for: what comes next is told of, or found by the
    // next poll.
    if (claimer.backlog || stopping.signal.aborted) nudge.ring()
  }

  // --- running

  /** Until it has ended. */
  function startClaimed(job: ClaimedJob, worker: number): Promise<void> {
    const mayStart = worker === (job.crashes >= ALONE_FROM ? idUnlessStopping() : idToLeaseTo())
    if (!mayStart) return leaveUnstarted(job, job.attempt)
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber)
      throw new Error(`claimed a job of subscriber ${job.subscriber}, which this process does not have`)
    const run = claimedRun(job, { subscriber, business, isHeld: () => lease.worker === worker })
    const lane = job.lane === null ? laneOf(run) : undefined
    return lane === undefined ? start(run) : joinLaneOf(run, lane)
  }

  /**
   * Of a job that an ordered subscriber has without a lane: a replay made it, or the subscriber had
   * no order then.
   */
  function laneOf({ subscriber, event }: Run): string | undefined {
    if (!subscriber.laneOf) return undefined
    try {
      return subscriber.laneOf(event())
    } catch {
      // The run will fail for the same reason, and report it.
      return undefined
    }
  }

  /** Hands the job back to wait for its turn. */
  async function joinLaneOf({ job }: Run, lane: string): Promise<void> {
    const persistence = { doing: 'putting a job into its lane', observer, signal: givingUp.signal }
    await persistently(() => joinLane(pool, job, { lane, shards }), persistence)
    void passer.add(lane)
    freeSlot(job.subscriber)
  }

  function runBornLeased(job: JobRef, worker: number, event: () => Event): void {
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber || worker !== idToLeaseTo()) return void leaveUnstarted(job, 1)
    void start(bornLeasedRun(job, event, { subscriber, business, isHeld: () => lease.worker === worker }))
  }

  /** The slot was taken before. */
  function start(run: Run): Promise<void> {
    const key = keyOf(run.job)
    let hasSlot = true
    function leaveSlot(): void {
      if (hasSlot) freeSlot(run.job.subscriber)
      hasSlot = false
    }
    function settle(ending: Ending): Promise<CommitOutcome> {
      // A slot is for a handler, and this one has ended. What it wrote must be there before the
      // next may begin.
      if (!hasHandedOver(ending.handedOver) && settling.waiting < MAX_WAITING) leaveSlot()
      return settling.add(ending)
    }
    inFlight.set(key, run)
    return attempt(run, { settle, observer, signal: givingUp.signal }).finally(() => {
      inFlight.delete(key)
      // Whatever became of it: if it is not done, nothing is let go.
      if (run.orderKey !== undefined) void passer.add(run.orderKey)
      leaveSlot()
      isolation.changed()
      if (stopping.signal.aborted) nudge.ring()
    })
  }

  function abortAll(reason: Error): void {
    for (const run of inFlight.values()) run.interruption.interrupt(reason)
  }

  // --- giving back

  /** Gives a job and its slot back. If the job is the rescuer's by now, its fence keeps it so. */
  async function leaveUnstarted(job: JobRef, attempt: number): Promise<void> {
    await handBack(job, attempt)
    freeSlot(job.subscriber)
  }

  async function handBack(job: JobRef, attempt: number): Promise<void> {
    await settling.add({ settlement: handedBack(job, attempt), handedOver: NOTHING_HANDED_OVER })
  }

  async function returnStrays(worker: number, olderThanMs: number): Promise<void> {
    const leased = await jobsLeasedTo(pool, { shards, worker, olderThanMs })
    const strays = leased.filter((job) => !inFlight.has(keyOf(job)))
    await Promise.all(strays.map((job) => handBack(job, 1)))
  }

  async function returnAll(worker: number): Promise<void> {
    const persistence = { doing: 'handing back a job', observer, signal: givingUp.signal }
    await persistently(() => returnStrays(worker, 0), persistence)
  }

  // --- the end

  async function stop(drainMs: number): Promise<void> {
    stopping.abort()
    nudge.ring()
    const deaf = listening?.stop()
    const drained = allEnded()
    await withinMs(drained, drainMs)
    abortAll(new Draining('this process is stopping'))
    await withinMs(drained, ABORT_GRACE_MS)
    givingUp.abort()
    await claimer.ended
    await settling.idle()
    await passer.idle()
    await deaf
    await lease.retire().catch((error) => observer.trouble({ doing: 'retiring this worker', error }))
  }

  /** Nothing runs or is being settled, and nothing that is being accepted has a slot reserved. */
  async function allEnded(): Promise<void> {
    await claimer.ended
    while (!(slots.areAllFree && inFlight.size === 0) && !givingUp.signal.aborted) {
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
    reserve: (id) => idToLeaseTo() !== undefined && slots.take(id),
    release: freeSlot,
    runBornLeased,
    wake,
    stop,
  }
}

// With the fence: a run that lost its lease may still be ending while this process runs the job
// anew.
function keyOf(job: JobRef): string {
  return `${job.receiptId}/${job.subscriber}/${job.fence}`
}
