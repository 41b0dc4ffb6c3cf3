import type { Event } from '../model/event.ts'
import type { DraftParts } from './transform.ts'

/* Messages between the thread of a transform and the thread that started it. */

export type ToThread = 'ping' | { readonly id: number; readonly event: Event }

export type FromThread =
  /** The transform is loaded. */
  | 'ready'
  | 'pong'
  | { readonly id: number; readonly began: true }
  | { readonly id: number; readonly parts: DraftParts | undefined }
  | { readonly id: number; readonly failure: ThreadFailure }

/** Errors lose their classes between threads. */
export interface ThreadFailure {
  readonly text: string
  readonly stack?: string | undefined
  readonly is?: 'permanent' | 'retry-after'
  readonly delayMs?: number
}
