import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HookonceError } from '../model/errors.ts'
import { Permanent, RetryAfter } from '../model/handler-errors.ts'
import { afterFailure, type RetryPolicy } from './retry.ts'

const HOUR_MS = 3_600_000
const usual: RetryPolicy = {
  maxAttempts: 20,
  maxAgeMs: 72 * HOUR_MS,
  baseDelayMs: 2_000,
  maxDelayMs: HOUR_MS,
}

const policies = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 100 }),
  maxAgeMs: fc.integer({ min: 1, max: 400 * 24 * HOUR_MS }),
  baseDelayMs: fc.integer({ min: 1, max: HOUR_MS }),
  maxDelayMs: fc.integer({ min: 1, max: 60 * 24 * HOUR_MS }),
})
const attempts = fc.integer({ min: 1, max: 2_000 })
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('the delay is never above the exponential ceiling nor above the cap, and never negative', () => {
  fc.assert(
    fc.property(policies, attempts, randoms, (policy, attempt, random) => {
      const verdict = afterFailure({ error: new Error('x'), attempt, ageMs: 0 }, policy, () => random)
      if (verdict.state === 'failed') return
      expect(verdict.delayMs).toBeGreaterThanOrEqual(0)
      expect(verdict.delayMs).toBeLessThanOrEqual(policy.maxDelayMs)
      expect(verdict.delayMs).toBeLessThanOrEqual(policy.baseDelayMs * 2 ** (attempt - 1))
    }),
  )
})

test('the whole delay is random: it spreads from zero to the ceiling', () => {
  const delay = (random: number) =>
    afterFailure({ error: new Error('x'), attempt: 3, ageMs: 0 }, usual, () => random)
  expect(delay(0)).toMatchObject({ state: 'retrying', delayMs: 0 })
  expect(delay(0.5)).toMatchObject({ state: 'retrying', delayMs: 4_000 })
  expect(delay(0.999_999)).toMatchObject({ state: 'retrying', delayMs: expect.closeTo(8_000, 0) })
})

test('a delay always fits the ledger, for any delay that the handler requests', () => {
  const asked = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, 1e300, 2 ** 31, -1))
  fc.assert(
    fc.property(policies, attempts, asked, (policy, attempt, delayMs) => {
      const verdict = afterFailure({ error: new RetryAfter(delayMs, 'busy'), attempt, ageMs: 0 }, policy)
      if (verdict.state === 'failed') return
      expect(verdict.delayMs).toBeGreaterThanOrEqual(0)
      expect(Math.round(verdict.delayMs)).toBeLessThanOrEqual(2 ** 31 - 1)
    }),
  )
})

test('the delay of RetryAfter is honoured, even above the cap', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 24 * HOUR_MS }), randoms, (delayMs, random) => {
      const verdict = afterFailure(
        { error: new RetryAfter(delayMs, 'busy'), attempt: 1, ageMs: 0 },
        usual,
        () => random,
      )
      expect(verdict).toMatchObject({ state: 'retrying', delayMs: Math.max(delayMs, random * 2_000) })
    }),
  )
})

test('a RetryAfter without a number uses the usual delay', () => {
  const verdict = afterFailure(
    { error: new RetryAfter(Number.NaN, 'busy'), attempt: 1, ageMs: 0 },
    usual,
    () => 0.5,
  )
  expect(verdict).toMatchObject({ state: 'retrying', delayMs: 1_000 })
})

test('a permanent error fails the job at once', () => {
  fc.assert(
    fc.property(policies, attempts, (policy, attempt) => {
      expect(afterFailure({ error: new Permanent('no such customer'), attempt, ageMs: 0 }, policy)).toEqual({
        state: 'failed',
        reason: 'permanent: Permanent: no such customer',
      })
    }),
  )
})

test('a deleted body fails the job at once, because it cannot be restored', () => {
  const error = new HookonceError('BODY_EXPIRED', 'the body of receipt 1 is gone')
  expect(afterFailure({ error, attempt: 1, ageMs: 0 }, usual)).toMatchObject({ state: 'failed' })
})

test('the last attempt fails the job', () => {
  fc.assert(
    fc.property(policies, attempts, (policy, attempt) => {
      fc.pre(attempt >= policy.maxAttempts)
      expect(afterFailure({ error: new Error('x'), attempt, ageMs: 0 }, policy).state).toBe('failed')
    }),
  )
})

test('no attempt is planned past the maximum age', () => {
  const ages = fc.integer({ min: 0, max: 100 * 24 * HOUR_MS })
  fc.assert(
    fc.property(policies, attempts, ages, (policy, attempt, ageMs) => {
      const verdict = afterFailure({ error: new Error('x'), attempt, ageMs }, policy)
      if (verdict.state === 'retrying') expect(ageMs + verdict.delayMs).toBeLessThanOrEqual(policy.maxAgeMs)
    }),
  )
  expect(afterFailure({ error: new Error('x'), attempt: 1, ageMs: 73 * HOUR_MS }, usual)).toEqual({
    state: 'failed',
    reason: 'gave up after 73.0 hours: Error: x',
  })
})

const hostile = new Error('x')
Object.defineProperty(hostile, 'message', {
  get() {
    throw new Error('even this throws')
  },
})

test.each<[string, unknown, string]>([
  ['undefined', undefined, 'thrown: undefined'],
  ['null', null, 'thrown: null'],
  ['a string', 'no luck', 'thrown: no luck'],
  ['a symbol', Symbol('odd'), 'thrown: Symbol(odd)'],
  ['an object without a prototype', Object.create(null), 'thrown: a value without a text'],
  ['an error whose message cannot be read', hostile, 'thrown: a value without a text'],
  [
    'an error of ours',
    new HookonceError('LEASE_LOST', 'gone'),
    new HookonceError('LEASE_LOST', 'gone').message,
  ],
])('%s that was thrown is described', (_, error, text) => {
  expect(afterFailure({ error, attempt: 1, ageMs: 0 }, usual).reason).toBe(text)
})

test('the length of a description is limited', () => {
  const error = new Error('x'.repeat(10_000_000))
  expect(afterFailure({ error, attempt: 1, ageMs: 0 }, usual).reason).toHaveLength(2_000)
})

test('a schedule gives each delay, with little jitter, and repeats its last one', () => {
  const scheduled = { ...usual, scheduleMs: [1_000, 60_000] }
  const delays = [1, 2, 3].map((attempt) =>
    [0, 1].map((random) => {
      const decision = afterFailure({ error: new Error('no'), attempt, ageMs: 0 }, scheduled, () => random)
      return decision.state === 'retrying' ? Math.round(decision.delayMs) : decision
    }),
  )
  expect(delays).toEqual([
    [1_000, 1_100],
    [60_000, 66_000],
    [60_000, 66_000],
  ])
})
