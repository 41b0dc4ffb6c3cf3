import type { Pool } from 'pg'
import type { Outbox } from '../effects/message.ts'
import type { Listening } from '../ledger/announce.ts'
import { type ClaimedJob, claimJobs, type DueShard, dueShards } from '../ledger/claim-jobs.ts'
import { bytesOf } from '../ledger/escaped-bytes.ts'
import type { JobRef } from '../ledger/job-ref.ts'
import { lanePasser } from '../ledger/lanes.ts'
import { jobsLeasedTo } from '../ledger/rescue-jobs.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import { recordedEvent } from '../sources/event.ts'
import { bell } from '../work/bell.ts'
import { Draining, interruption } from '../work/interruption.ts'
import { type Lease, takeLease } from '../work/lease.ts'
import { withinMs } from '../work/within.ts'
import { attempt, handedBack, type Run } from './attempt.ts'
import { settler } from './settler.ts'
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
  readonly listen: ((onWork: () => void) => Listening) | undefined
  readonly observer: Observer
}

/**
 * Claims due jobs, runs them, settles them; and runs at once what this process has just accepted.
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

/** One claim leases at most this many: a batch that a single process can lose should stay small. */
const MAX_CLAIM = 100
/**
 * A lease that this process does not know of, this long after it began, comes from a commit whose reply was
 * lost. Longer than any statement of ours waits for its answer.
 */
const STRAY_AFTER_MS = 30_000
/** After the abort at the end of a drain: time for a handler that honours its signal to clean up. */
const ABORT_GRACE_MS = 1_000

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { pool, observer, concurrency } = options
  const business = { pool: options.business, shards: options.shards, outbox: options.outbox }
  const subscribers = new Map(options.subscribers.map((subscriber) => [subscriber.id, subscriber]))
  const inFlight = new Map<string, Run>()
  const taken = new Map<number, number>()
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const settling = settler({ pool, observer, signal: givingUp.signal })
  let slots = concurrency
  let suspectRunning = false
  /** Due work may be waiting in the ledger. */
  let backlog = true
  let due = new Map<number, DueShard>()
  let dueUntil = 0
  const nudge = bell()
  const passer = lanePasser(
    { pool, shards: options.shards },
    { onDue: wake, onTrouble: (error) => observer.trouble({ doing: 'passing lanes on', error }) },
  )

  const lease: Lease = await takeLease({
    db: pool,
    leaseMs: options.leaseMs,
    observer,
    onLost: () => abortAll(new HookonceError('LEASE_LOST', 'this worker was silent for too long')),
    onBeat: returnStrays,
  })
  const claiming = claimLoop()
  const listening = options.listen?.(wake)

  // --- slots

  function roomFor(subscriber: Subscriber): number {
    return Math.min(slots, subscriber.concurrency - (taken.get(subscriber.id) ?? 0))
  }

  function takeSlot(id: number): void {
    slots -= 1
    taken.set(id, (taken.get(id) ?? 0) + 1)
  }

  function freeSlot(id: number): void {
    returnSlot(id)
    // Without a backlog there is nothing to look for: what comes next is told of, or found by the next poll.
    if (backlog || stopping.signal.aborted) nudge.ring()
  }

  /** As freeSlot, for a slot that the claim loop itself took and did not need. */
  function returnSlot(id: number): void {
    slots += 1
    taken.set(id, (taken.get(id) ?? 1) - 1)
  }

  /** The next suspect may be claimed. */
  function suspectEnded(): void {
    suspectRunning = false
    backlog = true
    dueUntil = 0
  }

  function wake(): void {
    backlog = true
    dueUntil = 0
    nudge.ring()
  }

  // --- running

  /** The slot was taken before. */
  function start(run: Run, isSuspect: boolean): void {
    const key = keyOf(run.job)
    inFlight.set(key, run)
    void attempt(run, { business, settle: settling.add, observer }).finally(() => {
      inFlight.delete(key)
      if (isSuspect) suspectEnded()
      // Whatever became of it: if it is not done, nothing is let go.
      if (run.lane !== undefined) void passer.add(run.lane)
      freeSlot(run.job.subscriber)
    })
  }

  /** Whether a job that was leased to `worker` is still to be run here. */
  function mayStart(worker: number): boolean {
    return worker === lease.worker && !stopping.signal.aborted
  }

  /** Gives a job and its slot back. If the job is the rescuer's by now, its fence keeps it so. */
  async function leaveUnstarted(job: JobRef & { crashes?: number }, attempt: number): Promise<void> {
    await handBack(job, attempt)
    if (job.crashes) suspectRunning = false
    freeSlot(job.subscriber)
  }

  async function handBack(job: JobRef, attempt: number): Promise<void> {
    await settling.add({ settlement: handedBack(job, attempt), writes: [], messages: [] })
  }

  function abortAll(reason: Error): void {
    for (const run of inFlight.values()) run.interruption.interrupt(reason)
  }

  // --- claiming

  async function claimLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      nudge.reset()
      const claimed = await claimOnce().catch((error) => {
        observer.trouble({ doing: 'claiming due jobs', error })
        return 0
      })
      // Until there is reason to look again: a freed slot, new work of our own, or the time to poll.
      if (claimed === 0) await nudge.wait(options.pollMs * (0.5 + Math.random()))
    }
  }

  /** Claims for the free slots, shard by shard. Returns how many jobs were started. */
  async function claimOnce(): Promise<number> {
    if (slots === 0 || lease.worker === undefined) return 0
    await findDue()
    let started = 0
    for (const entry of [...due.values()]) {
      const wanted = slotsFor(entry.subscribers)
      if (wanted.size === 0) continue
      const claimed = await claimIn(entry.shard, wanted)
      if (claimed === undefined) break
      // Fewer than there was room for: this shard has no more.
      if (claimed < sum(wanted.values())) due.delete(entry.shard)
      started += claimed
    }
    return started
  }

  /** Which shards have due work. Asked again when all that was found is claimed, or when it is time to look anew. */
  async function findDue(): Promise<void> {
    if (due.size > 0 && performance.now() < dueUntil) return
    const question = {
      shards: options.shards,
      subscribers: [...subscribers.keys()],
      suspects: !suspectRunning,
    }
    const found = await dueShards(pool, question)
    due = new Map(shuffled(found).map((entry) => [entry.shard, entry]))
    dueUntil = performance.now() + options.pollMs
    backlog = due.size > 0
  }

  /** Returns how many jobs were claimed; undefined: nothing may be claimed now. */
  async function claimIn(shard: number, wanted: ReadonlyMap<number, number>): Promise<number | undefined> {
    const worker = lease.worker
    if (worker === undefined || stopping.signal.aborted) return undefined
    for (const [id, count] of wanted) for (let n = 0; n < count; n += 1) takeSlot(id)
    const claim = { shard, worker, slots: wanted, suspects: !suspectRunning }
    const jobs = await claimJobs(pool, claim).catch((error) => {
      returnUnused(wanted, [])
      throw error
    })
    returnUnused(wanted, jobs)
    for (const job of await withoutFurtherSuspects(jobs)) {
      if (mayStart(worker)) startClaimed(job, worker)
      else void leaveUnstarted(job, job.attempt)
    }
    return jobs.length
  }

  /** Shares the free slots out; together never more than are free, and no more than one claim may lease. */
  function slotsFor(wanted: readonly number[]): Map<number, number> {
    let left = Math.min(slots, MAX_CLAIM)
    const shares = new Map<number, number>()
    for (const id of wanted) {
      const subscriber = subscribers.get(id)
      const share = subscriber ? Math.min(roomFor(subscriber), left) : 0
      if (share <= 0) continue
      shares.set(id, share)
      left -= share
    }
    return shares
  }

  function returnUnused(wanted: ReadonlyMap<number, number>, jobs: readonly ClaimedJob[]): void {
    for (const [id, count] of wanted) {
      const used = jobs.reduce((sum, job) => sum + (job.subscriber === id ? 1 : 0), 0)
      for (let n = used; n < count; n += 1) returnSlot(id)
    }
  }

  /** Keeps one suspect. The others are handed back, and that is committed, before it is started. */
  async function withoutFurtherSuspects(jobs: readonly ClaimedJob[]): Promise<readonly ClaimedJob[]> {
    const suspects = jobs.filter((job) => job.crashes > 0)
    if (suspects.length === 0) return jobs
    const [first, ...others] = suspects
    suspectRunning = true
    await Promise.all(others.map((job) => handBack(job, job.attempt)))
    for (const job of others) returnSlot(job.subscriber)
    return jobs.filter((job) => job.crashes === 0 || job === first)
  }

  function startClaimed(job: ClaimedJob, worker: number): void {
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber)
      throw new Error(`claimed a job of subscriber ${job.subscriber}, which this process does not have`)
    start(
      {
        job: refOf(job),
        attempt: job.attempt,
        ageMs: job.ageMs,
        subscriber,
        epoch: job.epoch,
        lastStep: job.lastStep ?? undefined,
        lane: job.lane ?? undefined,
        isHeld: () => lease.worker === worker,
        event: () => readEvent(job, subscriber),
        interruption: interruption(),
      },
      job.crashes > 0,
    )
  }

  // --- strays

  async function returnStrays(worker: number): Promise<void> {
    const leased = await jobsLeasedTo(pool, { shards: options.shards, worker, olderThanMs: STRAY_AFTER_MS })
    const strays = leased.filter((job) => !inFlight.has(keyOf(job)))
    await Promise.all(strays.map((job) => handBack(job, 1)))
  }

  // --- the end

  async function stop(drainMs: number): Promise<void> {
    stopping.abort()
    nudge.ring()
    await listening?.stop()
    const drained = allSlotsFree()
    await withinMs(drained, drainMs)
    abortAll(new Draining('this process is stopping'))
    await withinMs(drained, ABORT_GRACE_MS)
    givingUp.abort()
    await claiming
    await settling.idle()
    await passer.idle()
    await lease.retire().catch((error) => observer.trouble({ doing: 'retiring this worker', error }))
  }

  /** Nothing runs, and nothing that is being accepted has a slot reserved. */
  async function allSlotsFree(): Promise<void> {
    await claiming
    while (slots < concurrency && !givingUp.signal.aborted) {
      nudge.reset()
      await nudge.wait(ABORT_GRACE_MS)
    }
  }

  return {
    get id() {
      return stopping.signal.aborted ? undefined : lease.worker
    },
    reserve(id) {
      const subscriber = subscribers.get(id)
      if (!subscriber || lease.worker === undefined || stopping.signal.aborted || roomFor(subscriber) <= 0)
        return false
      takeSlot(id)
      return true
    },
    release: freeSlot,
    runBornLeased(job, worker, event) {
      const subscriber = subscribers.get(job.subscriber)
      if (!subscriber || !mayStart(worker)) return void leaveUnstarted(job, 1)
      start(
        {
          job,
          attempt: 1,
          ageMs: 0,
          subscriber,
          epoch: 0,
          lastStep: undefined,
          lane: undefined,
          isHeld: () => lease.worker === worker,
          event,
          interruption: interruption(),
        },
        false,
      )
    },
    wake,
    stop,
  }
}

function readEvent(job: ClaimedJob, subscriber: Subscriber): Event {
  const { body, headers } = job
  if (body === null || headers === null) {
    throw new HookonceError('BODY_EXPIRED', `the body of receipt ${job.receiptId} is gone`)
  }
  let bytes: Buffer | undefined
  const identity = {
    key: job.eventKey,
    type: job.eventType,
    objectId: job.objectId ?? undefined,
    occurredAtMs: job.occurredAtMs ?? undefined,
  }
  return recordedEvent(subscriber.source, identity, {
    receiptId: job.receiptId,
    tenant: subscriber.tenant,
    source: subscriber.sourceName,
    receivedAt: new Date(job.receivedAtMs),
    headers,
    get body() {
      bytes ??= bytesOf(body)
      return bytes
    },
  })
}

function refOf({ shard, receiptId, subscriber, fence }: JobRef): JobRef {
  return { shard, receiptId, subscriber, fence }
}

// With the fence: a run that lost its lease may still be ending while this process runs the job anew.
function keyOf(job: JobRef): string {
  return `${job.receiptId}/${job.subscriber}/${job.fence}`
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

// Every worker would otherwise start at shard 0 and meet the others there.
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
