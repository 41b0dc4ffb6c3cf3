import type { AttemptFact, EffectFact } from '../observe/observer.ts'
import type { CrashPoint, FaultKind } from './faults.ts'

/* Messages between a test and its real child processes. All of them are JSON. */

/** The only argument of a child. */
export interface ChildSettings {
  readonly module: string
  readonly export: string
  readonly database: string
  readonly downstreamUrl: string
  readonly schema: string
  readonly shiftMs: number
  readonly start: boolean
  readonly faults: readonly ChildFault[]
}

export interface ChildFault {
  readonly id: number
  readonly kind: FaultKind
  readonly point: CrashPoint
  /** How many more times the point must be reached before the fault happens. */
  readonly left: number
}

export type ToChild =
  | { readonly arm: ChildFault }
  | { readonly shiftMs: number }
  /** The run at a fault may continue. */
  | { readonly goOn: true }
  | { readonly stop: true }

export type FromChild =
  | { readonly port: number }
  | { readonly failed: string }
  /** A fault happens now. After it, the child is dead, stopped or waiting. */
  | { readonly hit: number }
  | { readonly attempt: Omit<AttemptFact, 'error'> & { readonly error?: string } }
  | { readonly effectStarted: EffectFact }
  | { readonly trouble: { readonly doing: string; readonly error: string } }
  | { readonly stopped: true }
