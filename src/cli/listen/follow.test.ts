import { expect, test } from 'vitest'
import { oldestOf } from './follow.ts'

async function* newestFirst(count: number): AsyncGenerator<number> {
  for (let number = count; number > 0; number -= 1) yield number
}

test('of a long list the oldest events are sent first, and the rest is listed again', async () => {
  const all = () => true
  expect(await oldestOf(newestFirst(3), all, 3)).toEqual({ events: [1, 2, 3], isWhole: true })
  expect(await oldestOf(newestFirst(7), all, 3)).toEqual({ events: [1, 2, 3], isWhole: false })
  const isOdd = (number: number) => number % 2 === 1
  expect(await oldestOf(newestFirst(6), isOdd, 3)).toEqual({ events: [1, 3, 5], isWhole: true })
})
