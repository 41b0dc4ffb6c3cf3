/**
 * Ends a run from outside: its time is up, its lease is lost, its process drains. Only the first reason counts.
 *
 * A class, as there is one for every run: an object with accessors of its own would have a shape of its own.
 */
export class Interruption {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #reject: ((reason: Error) => void) | undefined

  get reason(): Error | undefined {
    return this.#reason
  }

  /** Made for a handler that looks at it: most never do, and a signal costs more than a small handler. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  interrupt(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#reject?.(reason)
  }

  /** What the work comes to, or the reason of an interruption that comes before. Of one work at a time. */
  during<Result>(work: PromiseLike<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work.then(resolve, reject)
      if (this.#reason) reject(this.#reason)
    })
  }
}

/** A process that drains interrupts with this: the run is handed back and does not count. */
export class Drain extends Error {
  override readonly name = 'Draining'
}
