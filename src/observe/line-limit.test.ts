import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lineLimit } from './line-limit.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function written() {
  const lines: string[] = []
  const limit = lineLimit()
  return {
    lines,
    say: (kind: string, text: string) =>
      limit({
        kind,
        write: () => void lines.push(text),
        summarise: (andMore) => void lines.push(`${text} ${andMore}`),
      }),
  }
}

test('of one kind, the first ten lines in ten seconds are written, and one line has the number of the others', () => {
  const { lines, say } = written()
  for (let n = 1; n <= 8_322; n += 1) say('a', `a${n}`)
  say('b', 'b1')
  expect(lines).toHaveLength(11)
  vi.advanceTimersByTime(10_000)
  expect(lines.slice(10)).toEqual(['b1', 'a8322 … and 8,312 more'])
  say('a', 'later')
  expect(lines.at(-1)).toBe('later')
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(13)
})

test('a lasting flood is summarised in each interval', () => {
  const { lines, say } = written()
  for (let second = 0; second < 30; second += 1) {
    for (let n = 0; n < 100; n += 1) say('a', 'a')
    vi.advanceTimersByTime(1_000)
  }
  const summaries = lines.filter((line) => line !== 'a')
  expect(summaries).toEqual(Array(3).fill('a … and 990 more'))
  expect(lines).toHaveLength(33)
})

test('kinds that a stranger invents are as limited as lines', () => {
  const { lines, say } = written()
  for (let n = 0; n < 50_000; n += 1) say(`kind ${n}`, 'x')
  expect(lines.length).toBeLessThan(1_100)
  vi.advanceTimersByTime(10_000)
  expect(lines.at(-1)).toMatch(/^x … and 4\d,\d{3} more$/)
  const before = lines.length
  say('a kind that comes later', 'seen')
  expect(lines.slice(before)).toEqual(['seen'])
})
