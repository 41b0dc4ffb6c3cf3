import { z } from 'zod'
import { check, keptName, strict } from '../input/checked.ts'
import { storable } from '../ledger/driver/binary.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import type { EffectId, EndedEffect } from '../ledger/effects/effects.ts'
import { DAY_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { NotDone } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import { claimEffect, type EffectRequest, effectOf, type OpenCall, stopAtUnknown } from './claim-effect.ts'
import { recordOutcome } from './end-effect.ts'
import { type EffectFetch, effectFetch, Unsent } from './fetch.ts'
import { observedEffect } from './observed-effect.ts'
import { inputHash, requireSameInput, toRecord } from './recorded.ts'
import type { HandlerRun } from './run.ts'
import type { Call } from './step.ts'

/** The outcome of a call whose reply was not recorded, as the called service reports it. */
export type Reconciled<Result> =
  | { readonly outcome: 'done'; readonly result?: Result }
  | { readonly outcome: 'not done' }
  | { readonly outcome: 'unknown' }

export interface EarlierCall extends Call {
  readonly calledAt: Date
}

type Reconcile = (call: EarlierCall) => unknown

export const optionsSchema = strict({
  mode: z
    .enum(['keyed', 'atMostOnce', 'atLeastOnce'])
    .default('keyed')
    .describe('`keyed`, `atMostOnce`, `atLeastOnce`'),
  downstreamTtlMs: z
    .number()
    .positive()
    .default(DAY_MS)
    .describe('how long the other service honours a key; Stripe promises a day'),
  input: z
    .unknown()
    .optional()
    .describe(
      'the data that the effect depends on, as JSON. A different input under the same key throws `EFFECT_INPUT_CHANGED`, also within one run; it is never skipped silently',
    ),
  /** Runs before any second call, in every mode. */
  reconcile: z
    .custom<Reconcile>((value) => typeof value === 'function', 'must be a function')
    .optional()
    .describe(
      "`({ idempotencyKey, calledAt, signal }) => { outcome: 'done', result } | { outcome: 'not done' } | { outcome: 'unknown' }`",
    ),
})

export type EffectOptions<Result = unknown> = Omit<z.input<typeof optionsSchema>, 'reconcile'> & {
  readonly reconcile?: (call: EarlierCall) => Reconciled<Result> | Promise<Reconciled<Result>>
}

/** The argument of an effect's work. */
export interface EffectCall extends Call {
  /**
   * fetch with the Idempotency-Key and a timeout. Its errors distinguish "not done" from "unknown".
   */
  readonly fetch: EffectFetch
}

export type EffectWork<Result> = (call: EffectCall) => Result | Promise<Result>

/** Runs once per key; docs/reference/effects.md lists what each mode promises. */
export async function effect<Result>(
  run: HandlerRun,
  key: string,
  work: EffectWork<Result>,
  options: EffectOptions<Result>,
): Promise<Result> {
  check(keptName, key, 'the key of an effect')
  const { mode, downstreamTtlMs, input } = check(optionsSchema, options, `ctx.effect("${key}")`)
  const hash = inputHash(`effect "${key}"`, input)
  const { progress } = run
  progress.effects ??= new Map()
  const before = progress.effects.get(key)
  if (before) requireSameInput(`effect "${key}"`, before.inputHash, hash)
  const request = {
    effect: effectOf(run, key),
    mode,
    downstreamTtlMs,
    reconciles: options.reconcile !== undefined,
    inputHash: hash,
  }
  const { reconcile } = options
  const answer =
    before?.answer ??
    observedEffect(run, { key, mode }, (onStart) =>
      runEffect(run, { request, work: startingWith(onStart, work), reconcile }),
    )
  // Keep the first declared input, even if an earlier request declared none: later requests must
  // match it.
  progress.effects.set(key, { answer, inputHash: before?.inputHash ?? hash })
  return answer as Promise<Result>
}

function startingWith<Result>(onStart: () => void, work: EffectWork<Result>): EffectWork<Result> {
  return (call) => {
    onStart()
    return work(call)
  }
}

interface EffectExecution<Result> {
  readonly request: EffectRequest
  readonly work: EffectWork<Result>
  readonly reconcile: EffectOptions<Result>['reconcile']
}

async function runEffect<Result>(
  run: HandlerRun,
  { request, work, reconcile }: EffectExecution<Result>,
): Promise<Result> {
  const claim = await claimEffect(run, request)
  // The recorded value is what `work` returned.
  if (claim.kind === 'done') return claim.result as Result
  const { idempotencyKey, calledAt, epoch } = claim.call
  const open = { effect: request.effect, call: claim.call }
  if (reconcile === undefined || calledAt === undefined) return callAndRecord(run, open, work)

  const answer = await reconcile({ idempotencyKey, signal: run.interruption.signal, calledAt })
  if (answer.outcome === 'done') return record(run, open, answer.result as Result)
  if (answer.outcome === 'unknown') {
    const reason = 'it was called, and the called service does not know the outcome'
    return stopAtUnknown(run, { effect: request.effect, epoch, reason })
  }
  // Uses the same key even in atMostOnce. If a frozen run calls after the reconciliation, the
  // service can still recognise the duplicate.
  return callAndRecord(run, open, work)
}

interface CallInProgress {
  readonly effect: EffectId
  readonly call: OpenCall
}

async function callAndRecord<Result>(
  run: HandlerRun,
  open: CallInProgress,
  work: EffectWork<Result>,
): Promise<Result> {
  const { idempotencyKey } = open.call
  await requireHeld(run, open)
  let result: Result
  try {
    result = await work({
      idempotencyKey,
      signal: run.interruption.signal,
      fetch: effectFetch(run, idempotencyKey),
    })
  } catch (error) {
    // Any other error leaves the outcome open. A refusal of a second call does too, because it
    // proves nothing about the first. The row stays `started`, and the next request decides.
    const isDefinite = error instanceof NotDone || error instanceof Unsent
    if (isDefinite && open.call.calledAt === undefined) {
      await end(run, open, { state: 'failed', result: null, reason: error.message })
    }
    throw error
  }
  return record(run, open, result)
}

/**
 * The process may have been frozen between the commit and the call for longer than its lease. It
 * then makes no call. Without an earlier call, the effect is recorded as not done: otherwise its
 * outcome would count as unknown.
 */
async function requireHeld(run: HandlerRun, open: CallInProgress): Promise<void> {
  try {
    run.requireHeld()
  } catch (error) {
    const uncalled = {
      state: 'failed',
      result: null,
      reason: 'it was not called: the lease was lost',
    } as const
    // If the ledger refuses this, another run has already decided.
    if (open.call.calledAt === undefined) await end(run, open, uncalled).catch(() => undefined)
    throw error
  }
}

async function record<Result>(run: HandlerRun, open: CallInProgress, result: Result): Promise<Result> {
  try {
    const json = toRecord(`effect "${open.effect.key}"`, result)
    await end(run, open, { state: 'done', result: json, reason: null }).catch((error) => {
      throw asRefusedValue(open.effect, error)
    })
  } catch (error) {
    if (!(error instanceof HookonceError) || !UNKEPT.has(error.code)) throw error
    // The effect happened and must be recorded as done. Only its result is lost.
    await end(run, open, { state: 'done', result: null, reason: error.message })
    throw error
  }
  return result
}

const UNKEPT = new Set(['RESULT_NOT_JSON', 'STEP_RESULT_TOO_LARGE'])

/** Turns a refused value (SQLSTATE 22xxx) into RESULT_NOT_JSON; other errors stay as they are. */
function asRefusedValue({ key }: EffectId, error: unknown): unknown {
  if (!/^22...$/.test(sqlStateOf(error))) return error
  const fault = `the ledger cannot store the result of effect "${key}": ${textOfThrown(error)}`
  return new HookonceError('RESULT_NOT_JSON', fault, { cause: error })
}

/** Records how a call of this run ended. */
function end(
  { business: { pool }, job }: HandlerRun,
  { effect, call }: CallInProgress,
  outcome: Pick<EndedEffect, 'state' | 'result' | 'reason'>,
): Promise<void> {
  const reason = outcome.reason === null ? null : storable(outcome.reason)
  return recordOutcome(pool, { effect, job, epoch: call.epoch, ...outcome, reason })
}
