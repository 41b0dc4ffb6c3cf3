import { HookonceError } from '../model/errors.ts'
import { EffectBusy, NotDone } from '../model/handler-errors.ts'
import type { EffectEndFact, EffectFact } from '../observe/observer.ts'
import type { SpanEnd } from '../observe/span.ts'
import { Unsent } from './fetch.ts'
import type { HandlerRun } from './run.ts'
import { UnknownEffectMet } from './transaction-effect.ts'

type EffectName = Pick<EffectFact, 'key' | 'mode'>

/**
 * Runs an effect in a span, and reports its start and its end. `work` calls `onStart` just before
 * it calls the handler's function.
 */
export function observedEffect<Result>(
  run: HandlerRun,
  { key, mode }: EffectName,
  work: (onStart: () => void) => Promise<Result>,
): Promise<Result> {
  const { business, subscriber, job } = run
  const { inSpan, effectStarted, effectEnded } = business.observer
  if (!inSpan && !effectStarted && !effectEnded) return work(ignoreStart)
  const { sourceName: source, name } = subscriber
  const fact = { source, subscriber: name, receiptId: job.receiptId, key, mode }
  let hasStarted = false

  async function reported(): Promise<Result> {
    const startedAt = performance.now()
    const settled = await settle(
      work(() => {
        hasStarted = true
        effectStarted?.(fact)
      }),
    )
    effectEnded?.({ ...fact, ...endOf(settled), durationMs: performance.now() - startedAt })
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  }

  function endOf(settled: PromiseSettledResult<Result>): SpanEnd & Pick<EffectEndFact, 'outcome'> {
    if (settled.status === 'fulfilled') return { outcome: hasStarted ? 'done' : 'recorded' }
    return { outcome: outcomeOf(settled.reason, { mode, hasStarted }), error: settled.reason }
  }

  return inSpan ? inSpan({ kind: 'effect', ...fact }, reported, endOf) : reported()
}

function ignoreStart(): void {
  // No observer observes effects.
}

async function settle<Result>(promise: Promise<Result>): Promise<PromiseSettledResult<Result>> {
  const [settled] = await Promise.allSettled([promise])
  return settled
}

interface ThrownBy {
  readonly mode: EffectFact['mode']
  readonly hasStarted: boolean
}

function outcomeOf(error: unknown, { mode, hasStarted }: ThrownBy): EffectEndFact['outcome'] {
  const code = error instanceof HookonceError ? error.code : undefined
  if (error instanceof EffectBusy) return 'busy'
  if (error instanceof UnknownEffectMet || code === 'EFFECT_UNKNOWN') return 'unknown'
  if (!hasStarted) return 'refused'
  // The effect happened, but its result could not be stored.
  if (code === 'RESULT_NOT_JSON' || code === 'STEP_RESULT_TOO_LARGE') return 'done'
  // A rolled-back transaction did nothing. The other modes record their outcome.
  if (mode === 'tx' || error instanceof NotDone || error instanceof Unsent) return 'failed'
  return 'open'
}
