import type { Pool } from 'pg'
import type { WriteOutcome } from '../effects/commit-writes.ts'
import type { Outbox } from '../effects/message.ts'
import type { Listening, OnWork } from '../ledger/announce.ts'
import type { ClaimedJob, DueShard } from '../ledger/claim-jobs.ts'
import type { JobRef } from '../ledger/job-ref.ts'
import { jobsLeasedTo } from '../ledger/rescue-jobs.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'
import { Draining } from '../work/interruption.ts'
import { lanePasser } from '../work/lane-passer.ts'
import { takeLease } from '../work/lease.ts'
import { withinMs } from '../work/within.ts'
import { attempt, handedBack, type Run } from './attempt.ts'
import { startClaimer } from './claimer.ts'
import { bornLeasedRun, claimedRun } from './runs.ts'
import { type Ending, hasWritten, settler } from './settler.ts'
import { slotsOf } from './slots.ts'
import type { Subscriber } from './subscriber.ts'

export interface WorkerOptions {
  readonly pool: Pool
  /** For the transactions of handlers. */
  readonly business: Pool
  readonly outbox: Outbox
  readonly shards: number
  readonly subscribers: readonly Subscriber[]
  /** Jobs in flight in this process. */
  readonly concurrency: number
  readonly leaseMs: number
  /** How long an idle worker waits before it looks for work again. Work accepted here is not waited for. */
  readonly pollMs: number
  /** Calls back when another process has left work. */
  readonly listen: ((onWork: OnWork) => Listening) | undefined
  readonly observer: Observer
}

/**
 * Claims due jobs (claimer.ts), runs them (attempt.ts), settles them (settler.ts); and runs at once what this process
 * has just accepted.
 *
 * A job is started only while the lease is held. A job that was in flight when its worker died is a suspect:
 * a process runs one suspect at a time, so that a payload that kills its process is found out by its own
 * crashes, and its neighbours are not buried with it.
 */
export interface Worker {
  /** The id to lease new jobs to; undefined while nothing may be started. */
  readonly id: number | undefined
  /** Takes a slot for a job that is about to be accepted. False: no room, let it wait in the ledger. */
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
 * A lease that this process does not know of, this long after it began, comes from a commit whose reply was
 * lost. Longer than any statement of ours waits for its answer.
 */
const STRAY_AFTER_MS = 30_000
/** So many runs that have ended may wait for their commit while others run in their slots. */
const MAX_WAITING = 256
/** After the abort at the end of a drain: time for a handler that honours its signal to clean up. */
const ABORT_GRACE_MS = 1_000

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { pool, observer, shards } = options
  const business = { pool: options.business, shards, outbox: options.outbox }
  const subscribers = new Map(options.subscribers.map((subscriber) => [subscriber.id, subscriber]))
  const slots = slotsOf(subscribers, options.concurrency)
  const inFlight = new Map<string, Run>()
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const nudge = bell()
  const settling = settler({ pool, observer, signal: givingUp.signal })
  const passer = lanePasser(
    { pool, shards },
    { onDue: wake, onTrouble: (error) => observer.trouble({ doing: 'passing lanes on', error }) },
  )
  const lease = await takeLease({
    db: pool,
    leaseMs: options.leaseMs,
    observer,
    onLost: () => abortAll(new HookonceError('LEASE_LOST', 'this worker was silent for too long')),
    onBeat: returnStrays,
  })
  const claimer = startClaimer({
    pool,
    shards,
    subscribers: [...subscribers.keys()],
    slots,
    pollMs: options.pollMs,
    observer,
    worker: idToLeaseTo,
    start: startClaimed,
    handBack: (job) => handBack(job, job.attempt),
    nudge,
    stopping: stopping.signal,
  })
  const listening = options.listen?.(wake)

  function idToLeaseTo(): number | undefined {
    return stopping.signal.aborted ? undefined : lease.worker
  }

  function wake(places?: readonly DueShard[]): void {
    if (places) claimer.expect(places)
    else claimer.lookAnew()
    nudge.ring()
  }

  function freeSlot(id: number): void {
    slots.giveBack(id, 1)
    // Without a backlog there is nothing to look for: what comes next is told of, or found by the next poll.
    if (claimer.backlog || stopping.signal.aborted) nudge.ring()
  }

  // --- running

  function startClaimed(job: ClaimedJob, worker: number): void {
    if (worker !== idToLeaseTo()) return void leaveUnstarted(job, job.attempt)
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber)
      throw new Error(`claimed a job of subscriber ${job.subscriber}, which this process does not have`)
    start(claimedRun(job, { subscriber, isHeld: () => lease.worker === worker }), job.crashes > 0)
  }

  function runBornLeased(job: JobRef, worker: number, event: () => Event): void {
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber || worker !== idToLeaseTo()) return void leaveUnstarted(job, 1)
    start(bornLeasedRun(job, event, { subscriber, isHeld: () => lease.worker === worker }), false)
  }

  /** The slot was taken before. */
  function start(run: Run, isSuspect: boolean): void {
    const key = keyOf(run.job)
    let hasSlot = true
    function leaveSlot(): void {
      if (hasSlot) freeSlot(run.job.subscriber)
      hasSlot = false
    }
    function settle(ending: Ending): Promise<WriteOutcome> {
      // A slot is for a handler, and this one has ended. What it wrote must be there before the next may begin.
      if (!hasWritten(ending) && settling.waiting < MAX_WAITING) leaveSlot()
      return settling.add(ending)
    }
    inFlight.set(key, run)
    void attempt(run, { business, settle, observer, signal: givingUp.signal }).finally(() => {
      inFlight.delete(key)
      if (isSuspect) {
        claimer.suspectEnded()
        claimer.lookAnew()
      }
      // Whatever became of it: if it is not done, nothing is let go.
      if (run.lane !== undefined) void passer.add(run.lane)
      leaveSlot()
      // Its slot may have been free for long: the next suspect has only waited for this one.
      if (isSuspect || stopping.signal.aborted) nudge.ring()
    })
  }

  function abortAll(reason: Error): void {
    for (const run of inFlight.values()) run.interruption.interrupt(reason)
  }

  // --- giving back

  /** Gives a job and its slot back. If the job is the rescuer's by now, its fence keeps it so. */
  async function leaveUnstarted(job: JobRef & { crashes?: number }, attempt: number): Promise<void> {
    await handBack(job, attempt)
    if (job.crashes) claimer.suspectEnded()
    freeSlot(job.subscriber)
  }

  async function handBack(job: JobRef, attempt: number): Promise<void> {
    await settling.add({ settlement: handedBack(job, attempt), writes: [], messages: [] })
  }

  async function returnStrays(worker: number): Promise<void> {
    const leased = await jobsLeasedTo(pool, { shards, worker, olderThanMs: STRAY_AFTER_MS })
    const strays = leased.filter((job) => !inFlight.has(keyOf(job)))
    await Promise.all(strays.map((job) => handBack(job, 1)))
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
    reserve: (id) => idToLeaseTo() !== undefined && slots.take(id),
    release: freeSlot,
    runBornLeased,
    wake,
    stop,
  }
}

// With the fence: a run that lost its lease may still be ending while this process runs the job anew.
function keyOf(job: JobRef): string {
  return `${job.receiptId}/${job.subscriber}/${job.fence}`
}
