/** Ends a run from outside: its time is up, its lease is lost, its process drains. Only the first reason counts. */
export interface Interruption {
  readonly reason: Error | undefined
  /** Made for a handler that looks at it: most never do, and a signal costs more than a small handler. */
  readonly signal: AbortSignal
  interrupt(reason: Error): void
  /** Rejects at the interruption. */
  readonly interrupted: Promise<never>
}

export function interruption(): Interruption {
  let controller: AbortController | undefined
  let reason: Error | undefined
  let reject: (reason: Error) => void = () => undefined
  const interrupted = new Promise<never>((_, rejectIt) => {
    reject = rejectIt
  })
  // Where nobody waits for the run any more, an interruption concerns nobody.
  interrupted.catch(() => undefined)
  return {
    get reason() {
      return reason
    },
    get signal() {
      controller ??= new AbortController()
      if (reason) controller.abort(reason)
      return controller.signal
    },
    interrupt(why) {
      if (reason) return
      reason = why
      controller?.abort(why)
      reject(why)
    },
    interrupted,
  }
}

/** A process that drains interrupts with this: the run is handed back and does not count. */
export class Draining extends Error {
  override readonly name = 'Draining'
}
