import { limitedWarning } from '../observe/limited-warning.ts'

/** Events worth counting. Each is emitted once, after it happened. */
export type KeyEvent =
  | { readonly what: 'ran' | 'replayed' | 'locked' | 'mismatch' | 'unknown' | 'taken_over' }
  /** The handler threw. */
  | { readonly what: 'failed'; readonly error: unknown }
  /** Another run took over the lock. The result of this run was not stored. */
  | { readonly what: 'lost_lock' }
  /**
   * The handler ran, but its result could not be stored. The lock stays, and the crash policy
   * decides about retries. If only a reply's body could not be spilled, or a step's result was too
   * large, the key is still recorded as done.
   */
  | { readonly what: 'not_persisted'; readonly error: unknown }
  /** The store did not answer. `ran` is true if the handler ran anyway, unprotected. */
  | { readonly what: 'store_down'; readonly ran: boolean; readonly error: unknown }
  /** A heartbeat failed. The next one may succeed. */
  | { readonly what: 'heartbeat_failed'; readonly error: unknown }

export type Observe = (event: KeyEvent) => void

const ignore = (): void => undefined

/** Wraps an observer so that it cannot affect the request: if it throws, a warning is logged. */
export function harmless<Event extends { readonly what: string }>(
  observe: ((event: Event) => void) | undefined,
): (event: Event) => void {
  if (observe === undefined) return ignore
  return (event) => {
    try {
      observe(event)
    } catch (error) {
      limitedWarning('observe', `hookonce: observe threw at "${event.what}": ${String(error)}`)
    }
  }
}

/**
 * Logs an error that the client sees only as a bare 500, if there is no observer to report it to.
 */
export function warnUnobserved(observe: Observe | undefined, error: unknown): void {
  if (observe) return
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  limitedWarning(
    'failed',
    `hookonce/keys answered 500, because the handler or an option function threw: ${text}`,
  )
}
