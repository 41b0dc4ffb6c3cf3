import { z } from 'zod'
import { check, keptName, strict } from '../input/checked.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { endEffect, startEffect } from '../ledger/effects/effects.ts'
import { busy, claimLocked, type EffectRequest, effectOf, stopIfUnknown } from './claim-effect.ts'
import { effectDownstreamKey } from './downstream-key.ts'
import { inputHash, toRecord } from './recorded.ts'
import { type HandlerRun, stop } from './run.ts'

const optionsSchema = strict({
  /** The input of the effect, as JSON. The same key with another input is refused. */
  input: z.unknown().optional(),
})

export type TransactionEffectOptions = z.input<typeof optionsSchema>

interface TransactionEffect<Result> {
  readonly key: string
  readonly work: () => Promise<Result>
  readonly options: TransactionEffectOptions
}

/** A transaction met an unknown effect. It must be rolled back before the job can stop. */
export class UnknownEffectMet extends Error {
  readonly request: EffectRequest

  constructor(request: EffectRequest) {
    super(`the outcome of effect "${request.effect.key}" is unknown`)
    this.request = request
  }
}

/**
 * An effect that consists of business writes only. Its key is inserted and its result recorded in
 * the same transaction. A second transaction with the same key waits at the insert until the first
 * has committed.
 */
export async function effectInTransaction<Result>(
  run: HandlerRun,
  db: Queryable,
  { key: given, work, options }: TransactionEffect<Result>,
): Promise<Result> {
  const key = check(keptName, given, 'the key of an effect')
  const { input } = check(optionsSchema, options, `tx.effect("${key}")`)
  const effect = effectOf(run, key)
  const request: EffectRequest = {
    effect,
    mode: 'tx',
    downstreamTtlMs: 0,
    reconciles: false,
    inputHash: inputHash(`effect "${key}"`, input),
  }
  const claim = await claimInTransaction(run, db, request)
  if (claim.kind === 'done') return claim.result as Result
  const result = await work()
  const json = toRecord(`effect "${key}"`, result)
  const { epoch } = claim
  await endEffect(db, { effect, job: run.job, epoch, state: 'done', result: json, reason: null })
  return result
}

type TransactionClaim =
  | { readonly kind: 'ours'; readonly epoch: number }
  | { readonly kind: 'done'; readonly result: unknown }

async function claimInTransaction(
  run: HandlerRun,
  db: Queryable,
  request: EffectRequest,
): Promise<TransactionClaim> {
  const { effect, mode } = request
  const downstreamKey = effectDownstreamKey({ ...effect, epoch: 0 })
  const first = { effect, job: run.job, epoch: 0, mode, inputHash: request.inputHash, downstreamKey }
  if (await startEffect(db, first)) return { kind: 'ours', epoch: 0 }
  for (;;) {
    const claim = await claimLocked(run, request, db)
    if (claim?.kind === 'wait') throw stop(run, busy(effect))
    if (claim?.kind === 'stop') throw stop(run, new UnknownEffectMet(request))
    if (claim?.kind === 'ours') return { kind: 'ours', epoch: claim.call.epoch }
    if (claim) return claim
  }
}

/** Stops the job for attention, after the rollback. */
export function stopAfterRollback(run: HandlerRun, { request }: UnknownEffectMet): Promise<never> {
  run.progress.stopped = undefined
  return stopIfUnknown(run, request)
}
