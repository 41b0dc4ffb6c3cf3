import type { EffectMode, EffectRow } from '../ledger/effects/effects.ts'

/** Who asks for an effect that somebody asked for before. */
export interface RequestTerms {
  readonly mode: EffectMode
  /** How long the other side remembers the key of a call. */
  readonly downstreamTtlMs: number
  /** Whether the other side can be asked what became of a call. */
  readonly reconciles: boolean
  /** Whether the run that last called may still be at it. */
  readonly callerIsLive: boolean
}

export type EffectDecision =
  /** It is done: here is the result. */
  | { readonly kind: 'return' }
  /** The call before this one is known not to count: begin anew, with another key. */
  | { readonly kind: 'next epoch' }
  /** Call, or ask, in place of the run that did not tell: with the same key. */
  | { readonly kind: 'take over' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stop'; readonly reason: string }

/**
 * What becomes of an effect that is asked for again. The one place where the modes differ: a call was started and
 * nobody told how it ended.
 */
export function decide(row: EffectRow, terms: RequestTerms): EffectDecision {
  if (row.reopened || row.state === 'failed') return { kind: 'next epoch' }
  if (row.state === 'done') return { kind: 'return' }
  if (row.state === 'unknown') return { kind: 'stop', reason: row.reason ?? 'its outcome is unknown' }
  if (terms.callerIsLive) return { kind: 'wait' }
  // A person has decided that it is to be called again.
  if (row.fence === 0) return { kind: 'take over' }
  if (terms.reconciles || terms.mode === 'atLeastOnce') return { kind: 'take over' }
  if (terms.mode === 'keyed') {
    if (row.ageMs < terms.downstreamTtlMs) return { kind: 'take over' }
    return {
      kind: 'stop',
      reason: 'it was called, no reply was recorded, and its key may be forgotten by now',
    }
  }
  return { kind: 'stop', reason: 'it was called and no reply was recorded' }
}
