import type { Pool } from 'pg'
import { check, keptName } from '../input/checked.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import type { EffectId } from '../ledger/effects/effects.ts'
import { STALE_FENCE } from '../ledger/jobs/fence.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import { HandOver, type HandOverOrigin } from './hand-over.ts'
import type { Latest } from './latest.ts'
import type { Outbox } from './message.ts'
import { Operations } from './operations.ts'

/**
 * One run of a job, as the calls of its handler use it. There is one object per run: the class in
 * process/run.ts. Its parts have three lifetimes:
 *
 * - `business` and `subscriber` live as long as the process, and all runs share them;
 * - the job, its epoch and its lease are fixed when the job is claimed or accepted;
 * - `progress` changes while the handler runs, and decides how the run is settled.
 */
export interface HandlerRun extends HandOverOrigin {
  readonly business: Business
  readonly subscriber: HandlerSubscriber
  /** No earlier run of this job can have recorded anything, so there is nothing to look up. */
  readonly isFirst: boolean
  /** Its signal is created on first use. */
  readonly interruption: { readonly signal: AbortSignal }
  /** Throws if the run is over, or its lease has ended by our own clock: start nothing new. */
  requireHeld(): void
  readonly progress: Progress
}

/**
 * The objects that all handlers of a process share: the ledger's database, its outbox, and the
 * observer.
 */
export interface Business {
  readonly pool: Pool
  readonly shards: number
  readonly outbox: Outbox
  readonly observer: EffectObserver
}

export type EffectObserver = Pick<Observer, 'effectStarted' | 'effectEnded' | 'inSpan'>

export interface HandlerSubscriber {
  readonly tenant: string
  readonly sourceName: string
  readonly name: string
  /** How long the handler may run. */
  readonly timeoutMs: number
}

/**
 * The progress of a handler. A class, because there is one object per run (decision 0016).
 * Collections are created on first use: most handlers need none.
 */
export class Progress {
  readonly operations = new Operations()
  /** Writes and messages for the completion of the job. */
  readonly handOver: HandOver
  /** The outcomes of ctx.latest and tx.latest, by entity. */
  readonly entityOutcomes: Latest<unknown>[] = []
  /** The state in which a commit of the run itself has settled the job. */
  settled: 'processed' | 'attention' | undefined = undefined
  /** The error that must end the run, even if the handler catches it. */
  stopped: Error | undefined = undefined
  /** True when the handler has ended. Operations that it did not await may still be pending. */
  hasHandlerEnded = false
  /** True when the run has ended. Later calls of the handler are refused. */
  isClosed = false
  /** Names of steps and transactions that this run has used. */
  names: Set<string> | undefined = undefined
  /** Names of transactions that are open. */
  openTransactions: Set<string> | undefined = undefined
  /**
   * Records of steps that this run has written or found. All of them must still exist when the job
   * completes: a failover can lose commits.
   */
  steps = 0
  /** Effects that this run has requested, by key. */
  effects: Map<string, RequestedEffect> | undefined = undefined

  constructor(origin: HandOverOrigin) {
    this.handOver = new HandOver(origin)
  }
}

/**
 * An effect that a run has requested. A second request with the same input gets the same answer.
 */
export interface RequestedEffect {
  readonly answer: Promise<unknown>
  readonly inputHash: Buffer | null
}

/** Each name is used once per run: the next attempt would silently skip a second use. */
export function claimName({ progress }: HandlerRun, name: string): void {
  // Checks the name before the work: if the record were refused afterwards, the work would be
  // repeated.
  check(keptName, name, 'the name of a step or transaction')
  progress.names ??= new Set()
  if (progress.names.has(name)) {
    throw new HookonceError(
      'STEP_REPEATED',
      `"${name}" was used before in this run; give each step and transaction a unique name`,
    )
  }
  progress.names.add(name)
}

/** Ends the run, even if the handler catches the error. */
export function stop<Stop extends Error>({ progress }: HandlerRun, stop: Stop): Stop {
  progress.stopped ??= stop
  return stop
}

export function unknownEffect({ key }: EffectId, reason: string): HookonceError {
  return new HookonceError('EFFECT_UNKNOWN', `effect "${key}": ${reason}`)
}

/** Turns the error of a stale fence into LEASE_LOST, and leaves other errors as they are. */
export function asLeaseLost(error: unknown, fault = 'another worker owns this job now'): unknown {
  if (sqlStateOf(error) !== STALE_FENCE) return error
  return new HookonceError('LEASE_LOST', fault, { cause: error })
}
