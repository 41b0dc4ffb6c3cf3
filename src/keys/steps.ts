import { check, keptName } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { digest } from './identity.ts'
import type { HandlerKind } from './policy.ts'
import { decodeValue, encodeValue, isNotKept, NOT_KEPT } from './result.ts'
import type { KeyId, KeySteps } from './store.ts'

export interface StepContext {
  /**
   * The same value in every run of this step for this key. Pass it to the service that you call.
   */
  readonly idempotencyKey: string
}

export type Step = <Value>(name: string, run: (step: StepContext) => Value | Promise<Value>) => Promise<Value>

/**
 * Tracks the steps of one run: how many began and, for a resumable handler, their stored results.
 */
export interface Steps {
  readonly step: Step
  begun(): number
}

export interface StepsOptions {
  readonly id: KeyId
  readonly fence: number
  readonly handler: HandlerKind
  readonly maxResultBytes: number
  readonly kept: KeySteps | undefined
  /** The key was held before, so there may be finished steps. */
  readonly again: boolean
  /** Runs before the first step. If it fails, the step does not begin. */
  readonly beforeFirst?: (() => Promise<void>) | undefined
  /**
   * Called if a step's result cannot be stored. This run still receives the result; a later run
   * gets an error.
   */
  readonly onNotKept: (error: HookonceError) => void
}

/** A class, because every run makes one and few runs have a step (docs/decisions/0016). */
export class TrackedSteps implements Steps {
  readonly #options: StepsOptions
  #names: Set<string> | undefined
  #begun = 0
  #finished: Promise<ReadonlyMap<string, Uint8Array>> | undefined
  #prepared: Promise<void> | undefined

  constructor(options: StepsOptions) {
    this.#options = options
  }

  /** A property, because handlers take it out of their context. */
  readonly step: Step = (name, run) => this.#run(name, run)

  begun(): number {
    return this.#begun
  }

  async #run<Value>(name: string, run: (step: StepContext) => Value | Promise<Value>): Promise<Value> {
    const { id, handler, kept, beforeFirst } = this.#options
    // Checked before the step runs: a step whose name cannot be stored would run again.
    check(keptName, name, 'the name of a step')
    this.#names ??= new Set()
    if (this.#names.has(name))
      throw new HookonceError('STEP_REPEATED', `two steps are named "${name}"; give each step a unique name`)
    this.#names.add(name)
    const known = await this.#resultOf(name)
    if (known) return decodeValue<Value>(known, `step "${name}"`)
    if (beforeFirst) {
      this.#prepared ??= beforeFirst()
      await this.#prepared
    }
    this.#begun++
    const value = await run({ idempotencyKey: digest([id, name]) })
    return handler === 'resumable' && kept ? this.#keep(kept, name, value) : value
  }

  async #resultOf(name: string): Promise<Uint8Array | undefined> {
    const { id, handler, kept, again } = this.#options
    if (handler !== 'resumable' || !kept || !again) return undefined
    this.#finished ??= kept.load(id)
    return (await this.#finished).get(name)
  }

  /**
   * Records that the step has run, even if its result cannot be stored, so the next run does not
   * repeat it. Returns the value that the next run will receive. A Date that becomes a string is
   * then noticed in the first run, not in the first retry.
   */
  async #keep<Value>(kept: KeySteps, name: string, returned: Value): Promise<Value> {
    const { id, fence, maxResultBytes, onNotKept } = this.#options
    const { result, value } = encodeValue(returned, maxResultBytes)
    if (isNotKept(result)) onNotKept(notKept(name))
    const saved = await kept.save(id, fence, name, result).catch((error) => {
      if (!(error instanceof HookonceError) || error.code !== 'STEP_RESULT_TOO_LARGE') throw error
      onNotKept(error)
      return kept.save(id, fence, name, NOT_KEPT)
    })
    if (!saved) throw new HookonceError('LOCK_LOST', `another run took over the key while step "${name}" ran`)
    return value
  }
}

function notKept(name: string): HookonceError {
  return new HookonceError(
    'STEP_RESULT_TOO_LARGE',
    `the result of step "${name}" has no JSON form, or is larger than maxResultBytes`,
  )
}
