import { limitedWarning } from '../observe/limited-warning.ts'

/** What is worth counting. Each is told once, when it has happened. */
export type KeyEvent =
  | { readonly what: 'ran' | 'replayed' | 'locked' | 'mismatch' | 'unknown' | 'taken_over' }
  /** The handler threw. */
  | { readonly what: 'failed'; readonly error: unknown }
  /** Another run has taken this one's lock. Its result was not kept. */
  | { readonly what: 'lost_lock' }
  /**
   * It ran, but its result could not be kept: the lock stays, and the crash policy decides. Where
   * only the body of its reply could not be spilled, or a step returned too much, what is kept is
   * that it is done.
   */
  | { readonly what: 'not_persisted'; readonly error: unknown }
  /** The store did not answer. `ran` says that the handler ran all the same, unprotected. */
  | { readonly what: 'store_down'; readonly ran: boolean; readonly error: unknown }
  /** A heartbeat did not get through; the next one may. */
  | { readonly what: 'heartbeat_failed'; readonly error: unknown }

export type Observe = (event: KeyEvent) => void

/** What watches must not change what happens: an observer that throws is only warned of. */
export function harmless<Event extends { readonly what: string }>(
  observe: ((event: Event) => void) | undefined,
): (event: Event) => void {
  return (event) => {
    try {
      observe?.(event)
    } catch (error) {
      limitedWarning('observe', `hookonce: observe threw at "${event.what}": ${String(error)}`)
    }
  }
}

/**
 * An error that the client sees only as a bare 500 is printed where nothing observes: nobody else
 * would know of it.
 */
export function warnUnobserved(observe: Observe | undefined, error: unknown): void {
  if (observe) return
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  limitedWarning('failed', `hookonce/keys answered 500, because the handler or an option threw: ${text}`)
}
