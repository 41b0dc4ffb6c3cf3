/**
 * Ends a run from outside: at its timeout, when its lease is lost, when its process drains. Only
 * the first reason counts. A class, because there is one per run (decision 0016).
 */
export class Interruption {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #reject: ((reason: Error) => void) | undefined

  get reason(): Error | undefined {
    return this.#reason
  }

  /**
   * Created on first use: most handlers never use it, and a signal costs more than a small handler.
   */
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

  /**
   * Settles with the work, or rejects with the reason of an earlier interruption. For one promise
   * at a time.
   */
  during<Result>(work: PromiseLike<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work.then(resolve, reject)
      if (this.#reason) reject(this.#reason)
    })
  }
}

/** The reason of a process that drains: the run is handed back, and its attempt does not count. */
export class Drain extends Error {
  override readonly name = 'Draining'
}
