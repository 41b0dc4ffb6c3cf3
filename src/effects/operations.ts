import { setImmediate as nextTurn } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'

/** Receives an operation that failed after its run ended, when no code awaits it. */
export type OnLateFailure = (operation: string, error: unknown) => void

/**
 * The asynchronous operations that a handler starts on its context, or on one transaction. A
 * handler may forget to await an operation. If that operation fails, the failure must neither end
 * the process as an unhandled rejection nor be ignored. So each operation is registered here, and
 * `requireAwaited` is called before the context or the transaction ends.
 */
export class Operations {
  readonly #pending = new Set<Operation<unknown>>()
  #failures: OperationFailure[] | undefined
  /** Receives failures after the context or transaction ended. */
  #onLateFailure: ((failure: OperationFailure) => void) | undefined

  start<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const operation = new Operation(work(), { name, onFailure: (failure) => this.#note(failure) })
    const ended = (): void => void this.#pending.delete(operation)
    this.#pending.add(operation)
    operation.watch(ended, ended)
    return operation
  }

  /** The name of the oldest operation that has not ended. */
  get firstPending(): string | undefined {
    const [operation] = this.#pending
    return operation?.name
  }

  /** Throws if an operation is pending, or has failed and no code awaited it. */
  requireAwaited(): void {
    const pending = this.firstPending
    if (pending !== undefined) throw new HookonceError('CONTEXT_CLOSED', `${pending} was not awaited`)
    const failure = this.#failures?.find(({ operation }) => !operation.isObserved)
    if (!failure) return
    const fault = `${failure.operation.name} was not awaited, and failed: ${textOfThrown(failure.error)}`
    throw new HookonceError('CONTEXT_CLOSED', fault, { cause: failure.error })
  }

  /**
   * Resolves when nothing is pending. Checks again after a turn: code that awaited an operation may
   * start the next one in the same turn.
   */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.all([...this.#pending].map((operation) => operation.watch(nothing, nothing)))
      await nextTurn()
    }
  }

  close(onLateFailure: OnLateFailure): void {
    this.#onLateFailure = ({ operation, error }) => {
      // If any code awaits the operation, it does so by the next turn.
      void nextTurn().then(() => {
        if (!operation.isObserved) onLateFailure(operation.name, error)
      })
    }
  }

  /** Later failures count as failures of the operations in `others`. */
  closeInto(others: Operations): void {
    this.#onLateFailure = (failure) => others.#note(failure)
  }

  #note(failure: OperationFailure): void {
    if (this.#onLateFailure) return this.#onLateFailure(failure)
    this.#failures ??= []
    this.#failures.push(failure)
  }
}

interface OperationFailure {
  readonly operation: Operation<unknown>
  readonly error: unknown
}

interface OperationOrigin {
  readonly name: string
  readonly onFailure: (failure: OperationFailure) => void
}

/**
 * A promise that knows whether any code observes it. Its rejection counts as handled from the
 * start; code that awaits the promise still receives the rejection. `then` returns another
 * Operation, so an unawaited chain is known as well.
 */
class Operation<Result> extends Promise<Result> {
  readonly #origin: OperationOrigin
  isObserved = false

  /** For the promises that Promise itself derives from an Operation. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(work: PromiseLike<Result>, origin: OperationOrigin) {
    super((resolve, reject) => void work.then(resolve, reject))
    this.#origin = origin
    this.watch(nothing, (error) => origin.onFailure({ operation: this, error }))
  }

  get name(): string {
    return this.#origin.name
  }

  /** Does not count as observing. */
  watch(onFulfilled: () => void, onRejected: (error: unknown) => void): Promise<void> {
    return super.then(onFulfilled, onRejected)
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` calls `then`, which shows the observation.
  override then<Fulfilled = Result, Rejected = never>(
    onFulfilled?: ((value: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isObserved = true
    return new Operation(super.then(onFulfilled, onRejected), this.#origin)
  }
}

function nothing(): void {
  return undefined
}
