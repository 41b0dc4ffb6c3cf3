import { expect, test } from 'vitest'
import { bell } from './bell.ts'

const FOREVER_MS = 1_000_000

test('a ring wakes the waiter', async () => {
  const { ring, wait } = bell()
  const waiting = wait(FOREVER_MS)
  ring()
  await waiting
})

test('a ring before the wait is remembered until it is reset', async () => {
  const { ring, wait, reset } = bell()
  ring()
  await wait(FOREVER_MS)
  await wait(FOREVER_MS)
  reset()
  let woken = false
  const waiting = wait(FOREVER_MS).then(() => (woken = true))
  await new Promise(setImmediate)
  expect(woken).toBe(false)
  ring()
  await waiting
})

test('a wait ends when its time is over', async () => {
  await bell().wait(1)
})
