import type { Completion, Settlement } from './decide.ts'
import type { Observe } from './events.ts'
import type { Heartbeat } from './heartbeat.ts'
import { afterFailure, type Policy } from './policy.ts'
import type { KeyRecord } from './record.ts'
import type { Steps } from './steps.ts'
import type { KeyId, KeyStore } from './store.ts'
import { settleWithRetry } from './store-calls.ts'

/*
 * The end of a run: writes its settlement to the record, and derives what the caller receives.
 */

/** The result of a run, and how to settle the record. With `failed`, the handler's kind decides. */
export interface RunEnd<Value> {
  readonly value: Value
  readonly settle: Completion | { readonly to: 'released' | 'unknown' | 'failed' }
}

export type Outcome<Value> =
  /**
   * The task ran. `kept` is false if the store could not be updated; then the crash policy decides
   * about retries.
   */
  | { readonly outcome: 'ran'; readonly value: Value; readonly kept: boolean }
  /** The task ran earlier. `record` holds its stored result. */
  | { readonly outcome: 'completed'; readonly record: KeyRecord }
  | {
      readonly outcome: 'locked' | 'mismatch' | 'unknown'
      readonly record: KeyRecord
      readonly now: number
    }
  /** The task ran, but another run took over the key and has not finished yet. */
  | { readonly outcome: 'lost'; readonly value: Value }

/** The part of a task that settling needs. */
export interface SettledTask {
  readonly store: KeyStore
  readonly id: KeyId
  readonly policy: Policy
  readonly observe: Observe
  readonly pledge?: { readonly name: string } | undefined
}

/** The state of one run between acquiring and settling. */
export interface HeldKey {
  readonly record: KeyRecord
  readonly steps: Steps
  readonly heartbeat: Heartbeat
}

export async function settle<Value>(
  task: SettledTask,
  held: HeldKey,
  { value, settle: end }: RunEnd<Value>,
): Promise<Outcome<Value>> {
  const { store, id, policy, observe } = task
  held.heartbeat.stop()
  const settlement = settlementOf(end, policy, held.steps.begun())
  try {
    const { settled, current } = await settleWithRetry(store, id, held.record.fence, {
      settlement,
      timeoutMs: policy.storeTimeoutMs,
    })
    if (!settled) return lost(task, held, value, current)
    if (settlement.to === 'completed') dropPledge(task, held)
    return ran(task, value)
  } catch (error) {
    observe({ what: 'not_persisted', error })
    return { outcome: 'ran', value, kept: false }
  }
}

/**
 * Settles the record after the handler threw. The caller receives the handler's error, so an error
 * of the store is only observed. If another run holds the key, returns the current record.
 */
export async function settleFailure(
  { store, id, policy, observe }: SettledTask,
  held: HeldKey,
  thrown: unknown,
): Promise<KeyRecord | undefined> {
  observe({ what: 'failed', error: thrown })
  held.heartbeat.stop()
  const settlement = settlementOf({ to: 'failed' }, policy, held.steps.begun())
  try {
    const { settled, current } = await settleWithRetry(store, id, held.record.fence, {
      settlement,
      timeoutMs: policy.storeTimeoutMs,
    })
    if (!settled) observe({ what: 'lost_lock' })
    return current
  } catch (error) {
    observe({ what: 'not_persisted', error })
    return undefined
  }
}

export function ran<Value>({ observe }: Pick<SettledTask, 'observe'>, value: Value): Outcome<Value> {
  observe({ what: 'ran' })
  return { outcome: 'ran', value, kept: true }
}

export function lost<Value>(
  { observe }: Pick<SettledTask, 'observe'>,
  { record }: Pick<HeldKey, 'record'>,
  value: Value,
  current: KeyRecord | undefined,
): Outcome<Value> {
  observe({ what: 'lost_lock' })
  return current?.state === 'completed' && current.fingerprint === record.fingerprint
    ? { outcome: 'completed', record: current }
    : { outcome: 'lost', value }
}

/**
 * Not awaited. If this drop fails, the completer drops the pledge later, because it reads the
 * record first.
 */
function dropPledge({ store, id, pledge }: SettledTask, held: HeldKey): void {
  const mayExist = held.steps.begun() > 0 || held.record.after !== 'nothing'
  if (pledge && mayExist) store.pledges?.drop(id, pledge.name).catch(() => undefined)
}

function settlementOf(end: RunEnd<unknown>['settle'], policy: Policy, stepsBegun: number): Settlement {
  if (end.to === 'completed') return end
  const { ttlMs } = policy
  if (end.to === 'unknown') return { to: 'unknown', ttlMs }
  // A step that began may have had an effect, even if the handler requests a release.
  if (end.to === 'released' && stepsBegun > 0 && policy.handler !== 'resumable')
    return { to: 'unknown', ttlMs }
  return { to: end.to === 'failed' ? afterFailure(policy.handler, stepsBegun) : 'released', ttlMs }
}
