import { expect, test } from 'vitest'
import { allSchedules, type Schedule, sampledSchedules, shrunk } from './schedules.ts'

test('every order and number of deliveries, the shortest first', () => {
  expect(allSchedules(2, 1, 10)).toEqual([
    [0, 1],
    [1, 0],
  ])
  const all = allSchedules(2, 2, 100) ?? []
  expect(all).toHaveLength(14)
  expect(new Set(all.map(String)).size).toBe(14)
  expect(allSchedules(3, 2, 1_000)).toHaveLength(222)
  expect(allSchedules(3, 2, 221)).toBeUndefined()
})

test('a sample is the same for the same seed, and contains every event', () => {
  const sample = sampledSchedules(4, 2, { count: 30, seed: 7 })
  expect(sample).toHaveLength(30)
  expect(sampledSchedules(4, 2, { count: 30, seed: 7 })).toEqual(sample)
  expect(sampledSchedules(4, 2, { count: 30, seed: 8 })).not.toEqual(sample)
  for (const schedule of sample) expect(new Set(schedule)).toEqual(new Set([0, 1, 2, 3]))
})

test('a schedule is shortened to the deliveries that the fault needs', async () => {
  const isBefore = (schedule: Schedule, first: number, second: number): boolean =>
    schedule.includes(second) &&
    schedule.indexOf(first) >= 0 &&
    schedule.indexOf(first) < schedule.lastIndexOf(second)
  const fails = async (schedule: Schedule): Promise<boolean> => isBefore(schedule, 3, 1)
  expect(await shrunk([0, 3, 2, 3, 1, 0, 1], fails)).toEqual([3, 1])
  const repeated = async (schedule: Schedule): Promise<boolean> =>
    schedule.filter((event) => event === 2).length > 1
  expect(await shrunk([2, 1, 0, 2], repeated)).toEqual([2, 2])
})
