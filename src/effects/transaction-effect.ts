import { z } from 'zod'
import { check, keptName, strict } from '../input/checked.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { endEffect, startEffect } from '../ledger/effects/effects.ts'
import { busy, claimLocked, effectOf, stopIfUnknown, type Wanted } from './claim-effect.ts'
import { effectDownstreamKey } from './downstream-key.ts'
import { inputHash, toRecord } from './recorded.ts'
import { type HandlerRun, stop } from './run.ts'

const optionsSchema = strict({
  /** What the effect depends on, as JSON: a key that is used for something else is refused. */
  input: z.unknown().optional(),
})

export type TransactionEffectOptions = z.input<typeof optionsSchema>

interface Asked<Result> {
  readonly key: string
  readonly work: () => Promise<Result>
  readonly options: TransactionEffectOptions
}

/** An effect of unknown outcome, met inside a transaction: that must be rolled back before the job can stop. */
export class MetUnknown extends Error {
  readonly wanted: Wanted

  constructor(wanted: Wanted) {
    super(`the outcome of effect "${wanted.effect.key}" is unknown`)
    this.wanted = wanted
  }
}

/**
 * An effect that is nothing but business writes: its key is inserted, and its result recorded, in their transaction.
 * A second one with the same key waits at the insert until the first has committed.
 */
export async function effectInTransaction<Result>(
  run: HandlerRun,
  db: Queryable,
  { key: given, work, options }: Asked<Result>,
): Promise<Result> {
  const key = check(keptName, given, 'the key of an effect')
  const { input } = check(optionsSchema, options, `tx.effect("${key}")`)
  const effect = effectOf(run, key)
  const wanted: Wanted = {
    effect,
    mode: 'tx',
    downstreamTtlMs: 0,
    reconciles: false,
    inputHash: inputHash(`effect "${key}"`, input),
  }
  const claim = await claimInTransaction(run, db, wanted)
  if (claim.kind === 'done') return claim.result as Result
  const result = await work()
  const json = toRecord(`effect "${key}"`, result)
  const { epoch } = claim
  await endEffect(db, { effect, job: run.job, epoch, state: 'done', result: json, reason: null })
  return result
}

type ClaimInTransaction =
  | { readonly kind: 'ours'; readonly epoch: number }
  | { readonly kind: 'done'; readonly result: unknown }

async function claimInTransaction(
  run: HandlerRun,
  db: Queryable,
  wanted: Wanted,
): Promise<ClaimInTransaction> {
  const { effect, mode } = wanted
  const downstreamKey = effectDownstreamKey({ ...effect, epoch: 0 })
  const first = { effect, job: run.job, epoch: 0, mode, inputHash: wanted.inputHash, downstreamKey }
  if (await startEffect(db, first)) return { kind: 'ours', epoch: 0 }
  for (;;) {
    const claim = await claimLocked(run, wanted, db)
    if (claim?.kind === 'wait') throw stop(run, busy(effect))
    if (claim?.kind === 'stop') throw stop(run, new MetUnknown(wanted))
    if (claim?.kind === 'ours') return { kind: 'ours', epoch: claim.call.epoch }
    if (claim) return claim
  }
}

/** After the rollback: the job stops for a person. */
export function stopAtMet(run: HandlerRun, { wanted }: MetUnknown): Promise<never> {
  run.progress.stopped = undefined
  return stopIfUnknown(run, wanted)
}
