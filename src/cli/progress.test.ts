import { expect, test } from 'vitest'
import { type ProgressOutput, progress } from './progress.ts'

function started(output: Partial<ProgressOutput>) {
  const texts: string[] = []
  let now = 0
  const bar = progress({ ...output, write: (text) => texts.push(text) }, () => now)
  const at = (ms: number): typeof bar => {
    now = ms
    return bar
  }
  return { texts, at }
}

const jobs = (done: number) => ({ done, total: 1_000, noun: 'jobs' })

test('on a terminal, a bar shows share, rate and time left, and is removed at the end', () => {
  const { texts, at } = started({ isTTY: true, columns: 100 })
  at(0).show(jobs(0))
  at(50).show(jobs(40))
  at(2_000).show(jobs(500))
  at(2_000).end()
  expect(texts).toEqual([
    '\r\x1b[K[--------------------] 0 of 1000 jobs, 0 %',
    '\r\x1b[K[##########----------] 500 of 1000 jobs, 50 %, 250/s, 2 s left',
    '\r\x1b[K',
  ])
})

test('elsewhere, lines are rare, and have the same content', () => {
  const { texts, at } = started({})
  at(0).show(jobs(0))
  at(4_999).show(jobs(100))
  at(5_000).show(jobs(100))
  at(9_000).show(jobs(300))
  at(10_000).show(jobs(400))
  at(10_000).end()
  expect(texts).toEqual([
    '100 of 1000 jobs, 10 %, 20/s, 45 s left\n',
    '400 of 1000 jobs, 40 %, 40/s, 15 s left\n',
  ])
})

test('an urgent step is written at once, without control characters', () => {
  const { texts, at } = started({})
  at(0).show({ done: 4, noun: 'listed', note: 'waiting 2 s: status 503\x1b[2J', isUrgent: true })
  expect(texts).toEqual(['4 listed, waiting 2 s: status 503\uFFFD[2J\n'])
})

test('a narrow terminal gets a line that does not wrap', () => {
  const { texts, at } = started({ isTTY: true, columns: 40 })
  at(10_000).show(jobs(999))
  expect(texts[0]?.replace('\r\x1b[K', '').length).toBe(39)
})

test('an unknown total shows no remaining time, and an empty total is complete', () => {
  const { texts, at } = started({ isTTY: true, columns: 100 })
  at(1_000).show({ done: 7, noun: 'listed' })
  at(2_000).show({ done: 0, total: 0, noun: 'jobs' })
  at(3_000).show({ done: 10, noun: 'listed', share: 0.25 })
  expect(texts.map((text) => text.replace('\r\x1b[K', ''))).toEqual([
    '7 listed, 7.0/s',
    '[####################] 0 of 0 jobs, 100 %',
    '[#####---------------] 10 listed, 25 %, 3.3/s, 9 s left',
  ])
})
