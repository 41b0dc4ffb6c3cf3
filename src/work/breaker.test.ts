import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { breaker } from './breaker.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

class Down extends Error {}

/** The middle of the jitter, so that pauses have exactly their nominal length. */
function make() {
  const { attempt } = breaker(
    (error) => error instanceof Down,
    () => 0.5,
  )
  let tries = 0
  return {
    attempt,
    tried: () => tries,
    fail: () =>
      attempt(async () => {
        tries += 1
        throw new Down('down')
      }),
    succeed: () =>
      attempt(async () => {
        tries += 1
        return 'done'
      }),
  }
}

test('after an outage there is a probe at once, then after pauses that grow to two seconds', async () => {
  const { fail, tried } = make()
  await expect(fail()).rejects.toThrow('down')
  await expect(fail()).rejects.toThrow('down')
  for (const pauseMs of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
    const before = tried()
    vi.advanceTimersByTime(pauseMs - 1)
    await expect(fail()).rejects.toThrow('LEDGER_DOWN')
    expect(tried()).toBe(before)
    vi.advanceTimersByTime(1)
    await expect(fail()).rejects.toThrow('down')
    expect(tried()).toBe(before + 1)
  }
})

test('during the probe all other attempts are refused; its success admits all', async () => {
  const { attempt, fail, succeed, tried } = make()
  await expect(fail()).rejects.toThrow('down')
  const ends: ((value: string) => void)[] = []
  const probe = attempt(() => new Promise<string>((resolve) => ends.push(resolve)))
  await expect(succeed()).rejects.toThrow('LEDGER_DOWN')
  ends[0]?.('back')
  expect(await probe).toBe('back')
  expect(await Promise.all([succeed(), succeed()])).toEqual(['done', 'done'])
  expect(tried()).toBe(3)
})

test('attempts in parallel to the first failure do not lengthen the pause', async () => {
  const { fail, succeed } = make()
  await Promise.allSettled([fail(), fail(), fail()])
  expect(await succeed()).toBe('done')
})

test('an error that is not an outage does not open it, and closes it as a probe: the server has answered', async () => {
  const { attempt, fail, succeed } = make()
  const refused = (): Promise<never> => attempt(() => Promise.reject(new Error('a bad statement')))
  await expect(refused()).rejects.toThrow('a bad statement')
  expect(await Promise.all([succeed(), succeed()])).toEqual(['done', 'done'])
  await expect(fail()).rejects.toThrow('down')
  await expect(refused()).rejects.toThrow('a bad statement')
  expect(await Promise.all([succeed(), succeed()])).toEqual(['done', 'done'])
})
