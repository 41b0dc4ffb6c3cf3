import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sharedLook } from './shared-look.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('concurrent callers share one read, and later callers its result while it is fresh', async () => {
  let looks = 0
  const look = sharedLook(async () => ++looks, 1_000)
  expect(await Promise.all(Array.from({ length: 400 }, look))).toEqual(Array(400).fill(1))
  vi.advanceTimersByTime(999)
  expect(await look()).toBe(1)
  vi.advanceTimersByTime(2)
  expect(await look()).toBe(2)
})

test('without a time the next caller reads again, but never in parallel to another read', async () => {
  let looks = 0
  const ends: (() => void)[] = []
  const look = sharedLook(async () => {
    looks += 1
    await new Promise<void>((resolve) => ends.push(resolve))
    return looks
  })
  const both = [look(), look()]
  expect(looks).toBe(1)
  ends[0]?.()
  expect(await Promise.all(both)).toEqual([1, 1])
  const next = look()
  ends[1]?.()
  expect(await next).toBe(2)
})

test('a failure is shared and kept for as long as a result', async () => {
  let looks = 0
  const look = sharedLook(async () => {
    looks += 1
    throw new Error(`look ${looks}`)
  }, 1_000)
  await expect(look()).rejects.toThrow('look 1')
  await expect(look()).rejects.toThrow('look 1')
  vi.advanceTimersByTime(1_001)
  await expect(look()).rejects.toThrow('look 2')
})
