import type { Queryable } from '../ledger/driver/statement.ts'
import { ALONE_FROM } from '../model/suspects.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from './bell.ts'
import type { Claimer, ClaimTerms } from './claim-loop.ts'
import { Drain, type Interruption } from './interruption.ts'
import type { Isolation } from './isolation.ts'
import { type Lease, leaseEnded, takeLease } from './lease.ts'
import { persistently } from './persistently.ts'
import { type TimeLimit, withinMs } from './within.ts'

/*
 * What the worker (process/worker.ts) and the relay (publish/relay.ts) have in common: both run
 * work that is leased to them from the ledger. From start to end:
 *
 *   begin   takes the lease and starts to claim
 *   add     a run is in flight; remove: it has ended
 *           a lost lease interrupts everything in flight
 *           each heartbeat returns strays: work that the ledger says we hold, and we do not run
 *   drain   stops claiming, waits for what is in flight, then interrupts it
 *   retire  ends the lease
 */

export interface LeasedRunsOptions<Ref> {
  /** The name of the holder of the lease, in reports and errors. */
  readonly name: 'worker' | 'relay'
  readonly db: Queryable
  readonly leaseMs: number
  /** The subscribers whose jobs it runs. */
  readonly serves: readonly number[]
  readonly slots: { readonly areAllFree: boolean }
  readonly isolation: Isolation
  readonly observer: Observer
  /**
   * Identifies one lease, with its fence: a run that lost its lease may still be ending while this
   * process runs the same work again.
   */
  readonly keyOf: (ref: Ref) => string
  /** The work that the ledger has leased to `worker` for longer than `olderThanMs`. */
  readonly leasedTo: (question: LeasedQuestion) => Promise<readonly Ref[]>
  /** Returns work to the ledger: the attempt does not count. */
  readonly handBack: (ref: Ref) => Promise<void>
}

export interface LeasedQuestion {
  readonly worker: number
  readonly olderThanMs: number
}

export interface LeasedRuns<Ref> {
  /** The id to lease new work to. Undefined while nothing may be started. */
  readonly worker: number | undefined
  /** How long heartbeats have been answered without interruption. */
  readonly contactMs: number
  /** Aborted when the process must end although the ledger is down: retries must stop. */
  readonly givingUp: AbortSignal
  /** Whether the lease of `worker` still holds, by the clock of this process. */
  isHeld(worker: number): boolean
  /** Whether work that was leased to `worker` may be started, given its number of crashes. */
  mayStart(worker: number, crashes: number): boolean
  begin<Started extends Claimer>(startClaimer: (terms: ClaimTerms) => Started): Promise<Started>
  /** Requests another claim soon. */
  nudge(): void
  /** Returns the key for `remove`. */
  add(ref: Ref, interruption: Interruption): string
  remove(key: string): void
  /** Called when a slot was released: there may be work for it. */
  slotFreed(): void
  drain(limit: TimeLimit): Promise<void>
  retire(): Promise<void>
}

/**
 * A lease that began this long ago, and that this process does not know, comes from a commit whose
 * reply was lost. Longer than any statement of hookonce waits for its answer.
 */
const STRAY_AFTER_MS = 30_000
/** After the interruption at the end of a drain: time for code that honours its signal. */
const ABORT_GRACE_MS = 1_000

export function leasedRuns<Ref>(options: LeasedRunsOptions<Ref>): LeasedRuns<Ref> {
  const { name, slots, isolation, observer, keyOf } = options
  const inFlight = new Map<string, Interruption>()
  const stopping = new AbortController()
  const givingUp = new AbortController()
  const nudge = bell()
  let lease: Lease | undefined
  let claimer: Claimer | undefined

  // --- the lease

  function workerAlone(): number | undefined {
    return stopping.signal.aborted ? undefined : lease?.worker
  }

  function worker(): number | undefined {
    return isolation.isClosed ? undefined : workerAlone()
  }

  async function begin<Started extends Claimer>(
    startClaimer: (terms: ClaimTerms) => Started,
  ): Promise<Started> {
    lease = await takeLease({
      db: options.db,
      leaseMs: options.leaseMs,
      serves: options.serves,
      observer,
      onLost: () => interruptAll(leaseEnded(name)),
      onBeat: (held) => returnStrays(held, STRAY_AFTER_MS),
    })
    isolation.join({ isIdle, onOpen: lookAnew })
    const started = startClaimer({
      isolation,
      observer,
      nudge,
      stopping: stopping.signal,
      worker,
      workerAlone,
      returnAll,
    })
    claimer = started
    return started
  }

  function lookAnew(): void {
    claimer?.lookAnew()
    nudge.ring()
  }

  // --- what is in flight

  function isIdle(): boolean {
    return inFlight.size === 0 && slots.areAllFree
  }

  function interruptAll(reason: Error): void {
    for (const interruption of inFlight.values()) interruption.interrupt(reason)
  }

  async function returnStrays(held: number, olderThanMs: number): Promise<void> {
    const leased = await options.leasedTo({ worker: held, olderThanMs })
    await Promise.all(leased.filter((ref) => !inFlight.has(keyOf(ref))).map(options.handBack))
  }

  async function returnAll(held: number): Promise<void> {
    const doing = `handing back the work leased to this ${name}`
    await persistently(() => returnStrays(held, 0), { doing, observer, signal: givingUp.signal })
  }

  // --- the end

  async function drain(limit: TimeLimit): Promise<void> {
    stopping.abort()
    nudge.ring()
    const ended = allEnded()
    await limit.within(ended)
    interruptAll(new Drain('this process is stopping'))
    await withinMs(ended, ABORT_GRACE_MS)
    givingUp.abort()
    await claimer?.ended
  }

  /**
   * Whether nothing runs or is being settled, and no slot is reserved for work that is being
   * accepted.
   */
  async function allEnded(): Promise<void> {
    await claimer?.ended
    while (!isIdle() && !givingUp.signal.aborted) {
      nudge.reset()
      await nudge.wait(ABORT_GRACE_MS)
    }
  }

  async function retire(): Promise<void> {
    await lease?.retire().catch((error) => observer.trouble({ doing: `retiring this ${name}`, error }))
  }

  return {
    get worker() {
      return worker()
    },
    get contactMs() {
      return lease?.contactMs ?? 0
    },
    givingUp: givingUp.signal,
    isHeld: (held) => lease?.worker === held,
    mayStart: (held, crashes) => held === (crashes >= ALONE_FROM ? workerAlone() : worker()),
    begin,
    nudge: () => nudge.ring(),
    add(ref, interruption) {
      const key = keyOf(ref)
      inFlight.set(key, interruption)
      return key
    },
    remove(key) {
      inFlight.delete(key)
      isolation.changed()
      if (stopping.signal.aborted) nudge.ring()
    },
    slotFreed() {
      isolation.changed()
      // Without a backlog there is nothing to claim: new work is announced, or the next poll finds
      // it.
      if (claimer?.backlog || stopping.signal.aborted) nudge.ring()
    },
    drain,
    retire,
  }
}
