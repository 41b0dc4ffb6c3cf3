import { hostname } from 'node:os'
import type { Queryable } from '../ledger/driver/statement.ts'
import { type Enlisted, enlistWorker, heartbeat, retireWorker } from '../ledger/jobs/workers.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * The lease of this process. While its heartbeats arrive, it keeps its jobs. If they stop, other
 * processes take over its jobs when the lease ends. This process stops itself at 80 percent of the
 * lease, by its own monotonic clock, so clocks need not agree. The remaining time absorbs a late
 * heartbeat.
 */
export interface Lease {
  /** The worker's id while the lease holds; undefined when nothing new may be started. */
  readonly worker: number | undefined
  /** How long heartbeats have been answered without interruption. 0 while the lease is not held. */
  readonly contactMs: number
  /** Ends the lease cleanly: work that this worker still holds is rescued at once. */
  retire(): Promise<void>
}

export interface LeaseOptions {
  readonly db: Queryable
  readonly leaseMs: number
  /** The subscribers whose jobs this worker runs. */
  readonly serves: readonly number[]
  readonly observer: Observer
  /**
   * Called when the lease has ended, or the ledger reports its end: everything in flight must stop.
   */
  readonly onLost: () => void
  /** Called after a successful heartbeat, one call at a time. */
  readonly onBeat: (worker: number) => Promise<void>
}

/** Three chances to renew the lease before it ends. */
const BEATS_PER_LEASE = 3
const LOCAL_SHARE = 0.8
/**
 * Two heartbeats. After a longer gap, a worker that renewed one heartbeat earlier may have lost its
 * lease meanwhile.
 */
const CONTACT_SHARE = 2 / BEATS_PER_LEASE

export async function takeLease(options: LeaseOptions): Promise<Lease> {
  const { db, leaseMs, serves, observer, onLost, onBeat } = options
  let renewedAt = performance.now()
  let contactSince = renewedAt
  let hasFailed = false
  let worker = await enlist()
  let lost = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let expiry: NodeJS.Timeout | undefined
  let beating: Promise<void> | undefined
  let tending: Promise<void> | undefined

  function enlist(): Promise<Enlisted> {
    return enlistWorker(db, { leaseMs, serves, host: hostname(), pid: process.pid })
  }

  function isHeld(): boolean {
    return !lost && performance.now() < renewedAt + leaseMs * LOCAL_SHARE
  }

  function lose(): void {
    if (lost) return
    lost = true
    observer.lease?.({ worker: worker.id, outcome: 'lost', silentMs: performance.now() - renewedAt })
    onLost()
  }

  function isInContact(): boolean {
    return !hasFailed && performance.now() < renewedAt + leaseMs * CONTACT_SHARE
  }

  function renewed(sentAt: number): void {
    if (!lost && !isInContact())
      observer.lease?.({ worker: worker.id, outcome: 'late', silentMs: sentAt - renewedAt })
    if (!isInContact()) contactSince = sentAt
    hasFailed = false
    renewedAt = sentAt
    lost = false
    // A separate timer: a heartbeat that hangs must not keep work in flight.
    clearTimeout(expiry)
    if (!stopped) expiry = setTimeout(lose, sentAt + leaseMs * LOCAL_SHARE - performance.now())
  }

  async function renew(): Promise<void> {
    const sentAt = performance.now()
    // A late timer means that the event loop was blocked: the lease may have ended already.
    if (!isHeld()) lose()
    const alive = await heartbeat(db, worker, leaseMs)
    if (!alive) {
      observer.lease?.({ worker: worker.id, outcome: 'takenOver', silentMs: sentAt - renewedAt })
      lose()
      worker = await enlist()
    }
    renewed(sentAt)
    // Not awaited: the callback may take longer than a lease, and no heartbeat would be sent
    // meanwhile.
    tending ??= tend(worker.id)
  }

  async function tend(held: number): Promise<void> {
    try {
      await onBeat(held)
    } catch (error) {
      observer.trouble({ doing: 'checking the work that this worker holds', error })
    } finally {
      tending = undefined
    }
  }

  async function beat(): Promise<void> {
    try {
      await renew()
    } catch (error) {
      hasFailed = true
      if (!isHeld()) lose()
      observer.trouble({ doing: 'renewing the lease of this worker', error })
    }
  }

  function schedule(): void {
    if (stopped) return
    timer = setTimeout(() => {
      beating = beat().finally(schedule)
    }, leaseMs / BEATS_PER_LEASE)
  }

  renewed(renewedAt)
  schedule()
  return {
    get worker() {
      return isHeld() && !stopped ? worker.id : undefined
    },
    get contactMs() {
      return isHeld() && isInContact() ? performance.now() - contactSince : 0
    },
    async retire() {
      stopped = true
      clearTimeout(timer)
      clearTimeout(expiry)
      await beating
      await tending
      await retireWorker(db, worker)
    },
  }
}

export function leaseEnded(holder: 'worker' | 'relay'): HookonceError {
  const fault = `the lease of this ${holder} has ended: no heartbeat was answered in time`
  return new HookonceError('LEASE_LOST', fault)
}
