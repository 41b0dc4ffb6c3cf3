import { setImmediate as nextTurn } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'

/** Told of a call that failed after all was over, where nobody awaits it. */
export type OnLateFailure = (what: string, error: unknown) => void

/**
 * The calls that a handler makes of its context, or of one transaction. One that it forgets to await must not end the
 * process when it fails, as a rejection that nobody handles would; nor may it be passed over. So all of them are known
 * here, and whoever ends what they belong to asks first.
 */
export class Calls {
  readonly #open = new Set<Call<unknown>>()
  #failed: Failed[] | undefined
  /** Takes what fails after the end. */
  #late: ((failed: Failed) => void) | undefined

  make<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const call = new Call(work(), { what, note: (failed) => this.#note(failed) })
    const ended = (): void => void this.#open.delete(call)
    this.#open.add(call)
    call.watch(ended, ended)
    return call
  }

  /** What one of those that have not ended is called. */
  get firstOpen(): string | undefined {
    const [call] = this.#open
    return call?.what
  }

  /** Throws where something that was begun has not ended, or has failed without anyone looking. */
  requireAwaited(): void {
    const open = this.firstOpen
    if (open !== undefined) throw new HookonceError('CONTEXT_CLOSED', `${open} was not awaited`)
    const failed = this.#failed?.find(({ call }) => !call.isHeard)
    if (!failed) return
    const fault = `${failed.call.what} was not awaited, and failed: ${textOfThrown(failed.error)}`
    throw new HookonceError('CONTEXT_CLOSED', fault, { cause: failed.error })
  }

  /** Until nothing is open. Whoever awaited one may go on to the next in the same turn. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) {
      await Promise.all([...this.#open].map((call) => call.watch(nothing, nothing)))
      await nextTurn()
    }
  }

  close(onLateFailure: OnLateFailure): void {
    this.#late = ({ call, error }) => {
      // Whoever awaits it does so by the next turn.
      void nextTurn().then(() => {
        if (!call.isHeard) onLateFailure(call.what, error)
      })
    }
  }

  /** What fails from now on counts as one of the others. */
  closeInto(others: Calls): void {
    this.#late = (failed) => others.#note(failed)
  }

  #note(failed: Failed): void {
    if (this.#late) return this.#late(failed)
    this.#failed ??= []
    this.#failed.push(failed)
  }
}

interface Failed {
  readonly call: Call<unknown>
  readonly error: unknown
}

interface Naming {
  readonly what: string
  readonly note: (failed: Failed) => void
}

/**
 * A promise that knows whether anyone looks at it. Its rejection counts as handled from the start; who awaits it gets it
 * all the same. What `then` makes of it is another one, so that a chain which nobody awaits is known as well.
 */
class Call<Result> extends Promise<Result> {
  readonly #naming: Naming
  isHeard = false

  /** For what Promise itself makes of one. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(work: PromiseLike<Result>, naming: Naming) {
    super((resolve, reject) => void work.then(resolve, reject))
    this.#naming = naming
    this.watch(nothing, (error) => naming.note({ call: this, error }))
  }

  get what(): string {
    return this.#naming.what
  }

  /** Without being one who looks. */
  watch(onFulfilled: () => void, onRejected: (error: unknown) => void): Promise<void> {
    return super.then(onFulfilled, onRejected)
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` tells that someone looks by calling it.
  override then<Fulfilled = Result, Rejected = never>(
    onFulfilled?: ((value: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isHeard = true
    return new Call(super.then(onFulfilled, onRejected), this.#naming)
  }
}

function nothing(): void {
  return undefined
}
