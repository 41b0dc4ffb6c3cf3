import { expect, test } from 'vitest'
import { millisecondsLeft, rateOf, resultOf } from './progress.ts'

const running = {
  state: 'running',
  expected: 100,
  replayed: 40,
  perSecond: 50,
  createdAt: '2026-11-17T12:00:00.000Z',
  endedAt: null,
} as const

test('the rate follows from the readings, if they cover some seconds', () => {
  expect(rateOf([{ at: 0, replayed: 0 }])).toBeUndefined()
  expect(
    rateOf([
      { at: 0, replayed: 0 },
      { at: 3_999, replayed: 9 },
    ]),
  ).toBeUndefined()
  expect(
    rateOf([
      { at: 0, replayed: 10 },
      { at: 4_000, replayed: 70 },
    ]),
  ).toBe(15)
})

test('the remaining time follows from the rate, or from the limit before there is a rate', () => {
  expect(millisecondsLeft(running, 20)).toBe(3_000)
  expect(millisecondsLeft(running, undefined)).toBe(1_200)
  expect(millisecondsLeft(running, 0)).toBe(1_200)
  expect(millisecondsLeft({ ...running, replayed: 101 }, 20)).toBe(0)
})

test('the result names how many jobs were replayed, and how many were not', () => {
  const endedAt = '2026-11-17T12:02:00.000Z'
  expect(resultOf({ ...running, state: 'done', replayed: 100, endedAt })).toBe(
    '100 jobs were replayed in 2 min.',
  )
  expect(resultOf({ ...running, state: 'done', replayed: 99, endedAt })).toMatch(
    /^99 jobs .* 1 job was skipped/,
  )
  expect(resultOf({ ...running, state: 'cancelled', endedAt })).toMatch(/^Cancelled after 40 jobs.*60 jobs/)
})
