import type { Pool } from 'pg'
import { check, keptName } from '../input/checked.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import type { EffectId } from '../ledger/effects/effects.ts'
import { STALE_FENCE } from '../ledger/jobs/fence.ts'
import { HookonceError } from '../model/errors.ts'
import type { Calls } from './calls.ts'
import type { Latest } from './latest.ts'
import type { MessageOrigin } from './message.ts'

/**
 * What the calls of one handler's run share. Collections are made by who needs them: most handlers
 * need none.
 */
export interface HandlerRun extends MessageOrigin {
  readonly pool: Pool
  /** No earlier run of this job can have recorded anything, so there is nothing to look up. */
  readonly isFirst: boolean
  /** The step whose commit completed an earlier run of this job: it is done, and has no result. */
  readonly lastStep: string | undefined
  /** How long the handler may run. */
  readonly timeoutMs: number
  /** Its signal is made for who looks at it. */
  readonly interruption: { readonly signal: AbortSignal }
  /** Throws where the run is over, or its lease is by our own clock: nothing new may be started. */
  readonly requireHeld: () => void
  /** What the handler has begun. */
  readonly calls: Calls
  /** The handler has ended, and only what it began is waited for. */
  isOver: boolean
  /** Names of steps and transactions that this run has used. */
  names?: Set<string>
  /** Names of transactions whose work is under way. */
  openTransactions?: Set<string>
  /** Effects that this run has asked for, by key. */
  effects?: Map<string, AskedEffect>
  /** Set when a commit of the run itself has settled the job. */
  settled: 'processed' | 'attention' | undefined
  /** Why the run must end here, whatever the handler makes of it. */
  stopped: Error | undefined
  /** What came of the entities that the handler spoke of. */
  readonly news: Latest<unknown>[]
}

/** An effect that a run has asked for: who asks again with the same input shares the answer. */
export interface AskedEffect {
  readonly answer: Promise<unknown>
  readonly inputHash: Buffer | null
}

/** A name is done once in a run: a second use would be skipped in silence by the next attempt. */
export function claimName(run: HandlerRun, name: string): void {
  // Before anything is done under it: what cannot be recorded would be done again.
  check(keptName, name, 'the name of a step or transaction')
  run.names ??= new Set()
  if (run.names.has(name)) {
    throw new HookonceError(
      'STEP_REPEATED',
      `"${name}" was used before in this run: give each step and transaction a name of its own`,
    )
  }
  run.names.add(name)
}

/** Ends the run, also where the handler catches what is thrown. */
export function stop<Stop extends Error>(run: HandlerRun, stop: Stop): Stop {
  run.stopped ??= stop
  return stop
}

export function unknownEffect({ key }: EffectId, reason: string): HookonceError {
  return new HookonceError('EFFECT_UNKNOWN', `effect "${key}": ${reason}`)
}

/** Tells the refusal of a stale fence from other errors of the database. */
export function asLeaseLost(error: unknown): unknown {
  if (sqlStateOf(error) !== STALE_FENCE) return error
  return new HookonceError('LEASE_LOST', 'another worker owns this job now', { cause: error })
}
