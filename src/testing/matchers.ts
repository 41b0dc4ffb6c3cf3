import { HookonceError } from '../model/errors.ts'
import type { Delivered } from './deliver.ts'
import type { DownstreamCalls } from './downstream.ts'
import type { EffectHistory } from './effects.ts'

/** An object with a count: `await t.effects(key)`, or `t.downstream.at(path)`. */
export type Occurrences = EffectHistory | DownstreamCalls

interface MatchResult {
  readonly pass: boolean
  message(): string
}

/** Matchers for `expect.extend()` of vitest and jest. */
export const matchers = {
  toHaveHappenedOnce: (received: unknown): MatchResult => happened(received, 1),
  toHaveHappenedTimes: (received: unknown, times: number): MatchResult => happened(received, times),
  toBeAcknowledged(received: unknown): MatchResult {
    const delivered = requireDelivered(received, 'toBeAcknowledged()')
    const { status } = delivered
    const pass = status !== undefined && status >= 200 && status < 300
    return {
      pass,
      message: () =>
        `expected ${nameOf(delivered)} ${pass ? 'not ' : ''}to be acknowledged; ${seen(delivered)}`,
    }
  },
  toBeRefusedWith(received: unknown, code: string): MatchResult {
    const delivered = requireDelivered(received, 'toBeRefusedWith()')
    const pass = delivered.code === code
    return {
      pass,
      message: () =>
        `expected ${nameOf(delivered)} ${pass ? 'not ' : ''}to be refused with ${code}; ${seen(delivered)}`,
    }
  },
}

/** The types of the matchers, for the runners that they are added to. */
export interface TestMatchers<Returned> {
  /** For an effect, or for the calls to a path: exactly one took effect. */
  toHaveHappenedOnce(): Returned
  toHaveHappenedTimes(times: number): Returned
  /** For a delivery: its last reply was 2xx. */
  toBeAcknowledged(): Returned
  /** For a delivery: its last reply was a refusal with this code. */
  toBeRefusedWith(code: string): Returned
}

/** Assertions without `expect`: for node:test and other runners. */
export function assertHappened(received: Occurrences, times = 1): void {
  const result = happened(received, times)
  if (!result.pass) throw new HookonceError('TEST_NOT_ONCE', result.message())
}

function happened(received: unknown, times: number): MatchResult {
  const found = requireOccurrences(received)
  const pass = found.happened === times
  return {
    pass,
    message: () => {
      const what = 'path' in found ? `calls of ${found.path}` : `the effect "${found.key}"`
      const expected = `expected ${what} ${pass ? 'not ' : ''}to have happened ${count(times)}`
      return [`${expected}, but it happened ${count(found.happened)}`, ...linesOf(found)].join('\n')
    },
  }
}

function count(times: number): string {
  return times === 1 ? 'once' : `${times} times`
}

function linesOf(occurrences: Occurrences): string[] {
  if ('path' in occurrences)
    return occurrences.calls.map(
      ({ method, path, key, acted }) =>
        `  ${method} ${path}, ${key === undefined ? 'without an Idempotency-Key' : `Idempotency-Key ${key}`}: ${acted ? 'acted' : 'did not act'}`,
    )
  if (occurrences.records.length === 0)
    return ['  nothing is recorded under this key; check the key, and wait with settled()']
  const records = occurrences.records.map(
    ({ state, mode, epoch, idempotencyKey, reason }) =>
      `  epoch ${epoch}: ${state}, mode ${mode}, Idempotency-Key ${idempotencyKey}${reason === null ? '' : `, ${reason}`}`,
  )
  return [...records, `  its work was called ${count(occurrences.calls)}`]
}

function requireOccurrences(received: unknown): Occurrences {
  if (typeof received === 'object' && received !== null && 'happened' in received)
    return received as Occurrences
  throw new HookonceError(
    'CONFIG_INVALID',
    'toHaveHappenedOnce(): pass `await t.effects(key)` or `t.downstream.at(path)`',
  )
}

function requireDelivered(received: unknown, where: string): Delivered {
  if (typeof received === 'object' && received !== null && 'statuses' in received)
    return received as Delivered
  throw new HookonceError('CONFIG_INVALID', `${where}: pass what \`await t.deliver(…)\` returned`)
}

function nameOf({ source, type, key }: Delivered): string {
  return `${source} ${type} ${key}`
}

function seen({ statuses, code }: Delivered): string {
  const replies = statuses.map((status) => status ?? 'no reply').join(', ')
  return `its deliveries were answered: ${replies}${code === undefined ? '' : `, ${code}`}`
}
