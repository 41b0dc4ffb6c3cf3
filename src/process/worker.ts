import type { Pool } from 'pg'
import { hasHandedOver, NOTHING_HANDED_OVER } from '../effects/hand-over.ts'
import type { Outbox } from '../effects/message.ts'
import type { OnWork, WorkListener } from '../ledger/jobs/announce.ts'
import type { ClaimedJob, DueShard } from '../ledger/jobs/claim.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import { joinOrderKey } from '../ledger/jobs/order.ts'
import { jobsLeasedTo } from '../ledger/jobs/rescue.ts'
import type { Vault } from '../ledger/vault/vault.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import type { Isolation } from '../work/isolation.ts'
import { leasedRuns } from '../work/leased-runs.ts'
import { persistently } from '../work/persistently.ts'
import { nextJobs } from '../work/release-next.ts'
import type { Room } from '../work/room.ts'
import { slotsOf } from '../work/slots.ts'
import type { TimeLimit } from '../work/within.ts'
import { attempt } from './attempt.ts'
import { attemptInSpan } from './attempt-span.ts'
import { circuits } from './circuits.ts'
import { startClaimer } from './claimer.ts'
import { rates } from './rates.ts'
import { bornLeasedRun, claimedRun, type Run } from './run.ts'
import type { CommitOutcome } from './settle/commit-writes.ts'
import { handedBack } from './settle/settlement.ts'
import { type RunCommit, settler } from './settle/settler.ts'
import type { Subscriber } from './subscriber.ts'

export interface WorkerOptions {
  readonly pool: Pool
  /** Opens encrypted payloads. */
  readonly vault: Vault
  /** Connections for the transactions of handlers. */
  readonly business: Pool
  readonly writes: Pool
  readonly outbox: Outbox
  readonly shards: number
  readonly subscribers: readonly Subscriber[]
  /** The number of jobs in flight in this process. */
  readonly concurrency: number
  readonly leaseMs: number
  /** How often an idle worker looks for work. Work accepted by this process wakes it at once. */
  readonly pollMs: number
  /** Registers a function that is called when another process announces work. */
  readonly listen: ((onWork: OnWork) => WorkListener) | undefined
  /** The heartbeat of the whole process. */
  readonly isolation: Isolation
  /** The slots of the process, if the workers of other ledgers share them. */
  readonly room?: Room | undefined
  readonly observer: Observer
}

/**
 * Claims due jobs (claimer.ts), runs them (attempt.ts) and settles them (settle/). Jobs that this
 * process has just accepted run at once. work/leased-runs.ts holds the lease and the jobs in
 * flight.
 *
 * A job is started only while the lease is held. A job that was in flight when its worker died is a
 * suspect (suspects.ts): finally it runs alone. So an event that kills its process is identified,
 * and the jobs that ran beside it do not fail with it.
 */
export interface Worker {
  /** The id of the worker to lease new jobs to. Undefined while nothing may be started. */
  readonly id: number | undefined
  /** How long its heartbeats have been answered without interruption. */
  readonly contactMs: number
  /**
   * Takes a slot for a job that is about to be accepted. False: no slot is free, so the job waits
   * in the ledger.
   */
  reserve(subscriber: number): boolean
  /** Releases a reserved slot: the event was a duplicate, or the job was held. */
  release(subscriber: number): void
  /** Runs a job that was born leased to `worker`, in the slot that was reserved for it. */
  runBornLeased(job: JobRef, worker: number, event: () => Event): void
  /** Looks for work in the ledger soon. */
  wake(): void
  /** Finishes jobs in flight, hands back those that take too long, and ends the lease. */
  stop(limit: TimeLimit): Promise<void>
}

/** The limit on ended runs that wait for their commit while other runs use their slots. */
const MAX_WAITING = 256

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { pool, observer, shards, isolation } = options
  const business = { pool: options.business, shards, outbox: options.outbox, observer }
  const subscribers = new Map(options.subscribers.map((subscriber) => [subscriber.id, subscriber]))
  const slots = slotsOf({
    total: options.concurrency,
    groupOf: (id: number) => subscribers.get(id)?.slotGroup,
    limitOf: ({ concurrency }) => concurrency,
    tenantOf: (id) => subscribers.get(id)?.tenant ?? '',
    groups: new Set(options.subscribers.map(({ slotGroup }) => slotGroup)),
    room: options.room,
  })
  const runs = leasedRuns<JobRef>({
    name: 'worker',
    db: pool,
    leaseMs: options.leaseMs,
    serves: [...subscribers.keys()],
    slots,
    isolation,
    observer,
    keyOf,
    leasedTo: (question) => jobsLeasedTo(pool, { shards, ...question }),
    handBack: (job) => handBack(job, 1),
  })
  const settling = settler({ pool, writes: options.writes, observer, signal: runs.givingUp })
  const next = nextJobs(
    { pool, shards },
    {
      onDue: wake,
      onTrouble: (error) => observer.trouble({ doing: 'releasing the next ordered jobs', error }),
    },
  )
  const circuitsHere = circuits({
    pool,
    vault: options.vault,
    shards,
    subscribers,
    slots,
    pollMs: options.pollMs,
    observer,
    signal: runs.givingUp,
    worker: () => runs.worker,
    start: startClaimed,
    onChange: () => wake(),
  })
  const claimer = await runs.begin((terms) =>
    startClaimer({
      ...terms,
      pool,
      vault: options.vault,
      shards,
      subscribers: [...subscribers.keys()],
      slots,
      pollMs: options.pollMs,
      start: startClaimed,
      circuits: circuitsHere,
      rates: rates({ pool, subscribers, slots, nudge: terms.nudge }),
    }),
  )
  const listening = options.listen?.(wake)
  options.room?.onFreed(runs.nudge)

  function wake(places?: readonly DueShard[]): void {
    if (places) claimer.expect(places)
    else claimer.lookAnew()
    runs.nudge()
  }

  function freeSlot(subscriber: number): void {
    slots.giveBack(subscriber, 1)
    runs.slotFreed()
  }

  // --- running

  /** Resolves when the job was settled or handed back. */
  function startClaimed(job: ClaimedJob, worker: number): Promise<void> {
    if (!runs.mayStart(worker, job.crashes)) return leaveUnstarted(job, job.attempt)
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber)
      throw new Error(`this process claimed a job of subscriber ${job.subscriber}, which it does not serve`)
    if (!circuitsHere.mayStart(job)) return leaveUnstarted(job, job.attempt)
    const run = claimedRun(job, { subscriber, business, isHeld: () => runs.isHeld(worker) })
    const missing = run.orderKey === undefined ? orderKeyOf(run) : undefined
    return missing === undefined ? start(run) : waitForTurn(run, missing)
  }

  /**
   * The order key of a job that was recorded without one: by a replay, or before its subscriber was
   * ordered.
   */
  function orderKeyOf({ subscriber, event }: Run): string | undefined {
    if (!subscriber.orderKeyOf) return undefined
    try {
      return subscriber.orderKeyOf(event())
    } catch {
      // The run will fail for the same reason, and report it.
      return undefined
    }
  }

  /** Hands the job back, to wait until its order key is free. */
  async function waitForTurn({ job }: Run, orderKey: string): Promise<void> {
    const persistence = { doing: 'giving a job its order key', observer, signal: runs.givingUp }
    await persistently(() => joinOrderKey(pool, job, { orderKey, shards }), persistence)
    void next.add(orderKey)
    freeSlot(job.subscriber)
  }

  function runBornLeased(job: JobRef, worker: number, event: () => Event): void {
    const subscriber = subscribers.get(job.subscriber)
    if (!subscriber || worker !== runs.worker) return void leaveUnstarted(job, 1)
    void start(bornLeasedRun(job, event, { subscriber, business, isHeld: () => runs.isHeld(worker) }))
  }

  /** The slot is already taken. */
  function start(run: Run): Promise<void> {
    const key = runs.add(run.job, run.interruption)
    let hasSlot = true
    function leaveSlot(): void {
      if (hasSlot) freeSlot(run.job.subscriber)
      hasSlot = false
    }
    function settle(commit: RunCommit): Promise<CommitOutcome> {
      // A slot is for a running handler, and this handler has ended. But its writes must be
      // committed before the next handler may begin.
      if (!hasHandedOver(commit.handedOver) && settling.waiting < MAX_WAITING) leaveSlot()
      return settling.add(commit)
    }
    const onSettled = run.subscriber.limiter?.circuit && circuitsHere.ended
    const deps = { settle, observer, signal: runs.givingUp, onSettled }
    const ended = observer.inSpan ? attemptInSpan(run, deps, observer.inSpan) : attempt(run, deps)
    return ended.finally(() => {
      runs.remove(key)
      // Independent of the outcome: while the job is unfinished, no other job with its key becomes
      // due.
      if (run.orderKey !== undefined) void next.add(run.orderKey)
      leaveSlot()
    })
  }

  // --- giving back

  /**
   * Hands a job and its slot back. If the job was rescued meanwhile, the stale fence prevents any
   * change.
   */
  async function leaveUnstarted(job: JobRef, attempt: number): Promise<void> {
    await handBack(job, attempt)
    freeSlot(job.subscriber)
  }

  async function handBack(job: JobRef, attempt: number): Promise<void> {
    await settling.add({ settlement: handedBack(job, attempt), handedOver: NOTHING_HANDED_OVER })
  }

  async function stop(limit: TimeLimit): Promise<void> {
    const listenerStopped = listening?.stop()
    await runs.drain(limit)
    await settling.idle()
    await circuitsHere.idle()
    await next.idle()
    await listenerStopped
    await runs.retire()
  }

  return {
    get id() {
      return runs.worker
    },
    get contactMs() {
      return runs.contactMs
    },
    reserve: (subscriber) =>
      runs.worker !== undefined && mayBeBornLeased(subscribers.get(subscriber)) && slots.take(subscriber),
    release: freeSlot,
    runBornLeased,
    wake,
    stop,
  }
}

/** A run within a rate needs a token, which only a claim takes. */
function mayBeBornLeased(subscriber: Subscriber | undefined): boolean {
  const limiter = subscriber?.limiter
  return !limiter || (limiter.rate === undefined && limiter.circuit?.isClosed !== false)
}

function keyOf(job: JobRef): string {
  return `${job.receiptId}/${job.subscriber}/${job.fence}`
}
