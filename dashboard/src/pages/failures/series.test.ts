import { expect, test } from 'vitest'
import { seriesOf, spanOf } from './series.ts'

const NOW = Date.parse('2026-11-17T12:30:00Z')
const hours = [
  { at: '2026-11-10T00:00:00+00:00', jobs: 3 },
  { at: '2026-11-17T12:00:00+00:00', jobs: 4 },
]

test('the span goes from the oldest failure of all groups to now', () => {
  expect(spanOf([{ hours: [] }, { hours }], NOW)).toEqual({
    from: Date.parse('2026-11-10T00:00:00Z'),
    to: NOW,
  })
})

test('a span is at least a day', () => {
  expect(spanOf([{ hours: hours.slice(1) }], NOW).from).toBe(NOW - 86_400_000)
})

test('every failure is counted once, at its place', () => {
  const series = seriesOf(hours, spanOf([{ hours }], NOW))
  expect([series[0], series.at(-1)]).toEqual([3, 4])
  expect(series.reduce((all, jobs) => all + jobs, 0)).toBe(7)
})
