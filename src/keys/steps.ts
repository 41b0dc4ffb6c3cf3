import { check, keptName } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { digest } from './identity.ts'
import type { HandlerKind } from './policy.ts'
import { decodeValue, encodeValue, isNotKept, NOT_KEPT } from './result.ts'
import type { KeyId, KeySteps } from './store.ts'

export interface StepContext {
  /** The same in every run of this step of this key: hand it to whatever you call. */
  readonly idempotencyKey: string
}

export type Step = <Value>(name: string, run: (step: StepContext) => Value | Promise<Value>) => Promise<Value>

/** The steps of one run: how many began, and, where the handler is resumable, what the finished ones returned. */
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
  /** This key has been held before, so that there may be finished steps. */
  readonly again: boolean
  /** Done before the first step begins, which does not begin where it fails. */
  readonly beforeFirst?: (() => Promise<void>) | undefined
  /** A result that cannot be kept reaches this run; a later one is told that it was not kept. */
  readonly onNotKept: (error: HookonceError) => void
}

export function trackSteps(options: StepsOptions): Steps {
  const { id, fence, handler, kept, again, maxResultBytes, beforeFirst, onNotKept } = options
  const names = new Set<string>()
  let begun = 0
  let finished: Promise<ReadonlyMap<string, Uint8Array>> | undefined
  let prepared: Promise<void> | undefined

  async function resultOf(name: string): Promise<Uint8Array | undefined> {
    if (handler !== 'resumable' || !kept || !again) return undefined
    finished ??= kept.load(id)
    return (await finished).get(name)
  }

  /**
   * Whatever becomes of its result, a step that has run is done: the next run must not repeat it. Returns what the next
   * run will get, so that a date that becomes a text is found out by the first run and not by the first retry.
   */
  async function keep<Value>(kept: KeySteps, name: string, returned: Value): Promise<Value> {
    const { result, value } = encodeValue(returned, maxResultBytes)
    if (isNotKept(result)) onNotKept(notKept(name))
    const saved = await kept.save(id, fence, name, result).catch((error) => {
      if (!(error instanceof HookonceError) || error.code !== 'STEP_RESULT_TOO_LARGE') throw error
      onNotKept(error)
      return kept.save(id, fence, name, NOT_KEPT)
    })
    if (!saved) throw new HookonceError('LOCK_LOST', `another run holds the key since step "${name}" began`)
    return value
  }

  return {
    begun: () => begun,
    async step<Value>(name: string, run: (step: StepContext) => Value | Promise<Value>): Promise<Value> {
      // Before it runs: what cannot be kept would run again.
      check(keptName, name, 'the name of a step')
      if (names.has(name)) throw new HookonceError('STEP_REPEATED', `two steps are named "${name}"`)
      names.add(name)
      const known = await resultOf(name)
      if (known) return decodeValue<Value>(known, `step "${name}"`)
      if (beforeFirst) {
        prepared ??= beforeFirst()
        await prepared
      }
      begun++
      const value = await run({ idempotencyKey: digest([id, name]) })
      return handler === 'resumable' && kept ? keep(kept, name, value) : value
    },
  }
}

function notKept(name: string): HookonceError {
  return new HookonceError(
    'STEP_RESULT_TOO_LARGE',
    `what step "${name}" returned has no JSON, or is larger than maxResultBytes`,
  )
}
