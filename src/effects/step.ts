import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { findStep, recordStep } from '../ledger/effects/steps.ts'
import { downstreamKey } from './downstream-key.ts'
import { fromRecord, inputHash, requireSameInput, toRecord } from './recorded.ts'
import { asLeaseLost, claimName, type HandlerRun } from './run.ts'

const stepOptions = strict({
  /** The input of the step, as JSON. A step with another input than the recorded one is refused. */
  input: z.unknown().optional(),
})

export type StepOptions = z.input<typeof stepOptions>

/** The argument of the function of a step or an effect. */
export interface Call {
  /** The idempotency key. Every attempt has the same key. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/**
 * A checkpoint. Once the result of `work` is recorded, `work` never runs again in this job. A crash
 * before the record repeats `work`. Use an effect for work that must not be repeated.
 */
export async function step<Result>(
  run: HandlerRun,
  name: string,
  work: (call: Call) => Result | Promise<Result>,
  options: StepOptions,
): Promise<Result> {
  const what = `step "${name}"`
  const { input } = check(stepOptions, options, `ctx.step("${name}")`)
  const hash = inputHash(what, input)
  claimName(run, name)
  const { job, epoch, subscriber, interruption } = run
  const { pool } = run.business
  const before = run.isFirst ? undefined : await findStep(pool, { job, epoch, name })
  if (before) {
    requireSameInput(what, before.inputHash, hash)
    run.progress.steps += 1
    return fromRecord(before.result) as Result
  }
  const idempotencyKey = downstreamKey({ receiptId: job.receiptId, subscriber: subscriber.name, name, epoch })
  const result = await work({ idempotencyKey, signal: interruption.signal })
  const record = toRecord(what, result)
  await recordStep(pool, { job, epoch, name, result: record, inputHash: hash }).catch((error) => {
    throw asLeaseLost(error)
  })
  run.progress.steps += 1
  return result
}
