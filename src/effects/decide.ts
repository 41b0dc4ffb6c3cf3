import type { EffectMode, EffectRow } from '../ledger/effects/effects.ts'

/** The terms under which a run requests an effect that was requested before. */
export interface RequestTerms {
  readonly mode: EffectMode
  /** How long the called service remembers the key of a call. */
  readonly downstreamTtlMs: number
  /** Whether `reconcile` can find the outcome of a call. */
  readonly reconciles: boolean
  /** Whether the run that made the last call may still be running. */
  readonly callerIsLive: boolean
}

export type RepeatDecision =
  /** The effect is done: return the recorded result. */
  | { readonly kind: 'return' }
  /** The previous call is known to have no effect: start a new call, with another key. */
  | { readonly kind: 'next epoch' }
  /**
   * Take over from the run that recorded no outcome: call again with the same key, or reconcile.
   */
  | { readonly kind: 'take over' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stop'; readonly reason: string }

/**
 * Decides what happens to an effect that is requested again. The modes differ only here: a call was
 * started, and its outcome was never recorded.
 */
export function decide(row: EffectRow, terms: RequestTerms): RepeatDecision {
  if (row.reopened || row.state === 'failed') return { kind: 'next epoch' }
  if (row.state === 'done') return { kind: 'return' }
  if (row.state === 'unknown') return { kind: 'stop', reason: row.reason ?? 'its outcome is unknown' }
  if (terms.callerIsLive) return { kind: 'wait' }
  // An operator decided to call again.
  if (row.fence === 0) return { kind: 'take over' }
  if (terms.reconciles || terms.mode === 'atLeastOnce') return { kind: 'take over' }
  if (terms.mode === 'keyed') {
    if (row.ageMs < terms.downstreamTtlMs) return { kind: 'take over' }
    return {
      kind: 'stop',
      reason: 'it was called, no reply was recorded, and its idempotency key may have expired',
    }
  }
  return { kind: 'stop', reason: 'it was called and no reply was recorded' }
}
