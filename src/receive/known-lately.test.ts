import { expect, test } from 'vitest'
import { knownLately } from './known-lately.ts'

const BODY = Uint8Array.of(1, 2, 3)
const DAY = 86_400

test('what the ledger said is known for a minute, counted from when it was asked', () => {
  let now = 5_000
  const known = knownLately(() => now)
  known.add('a', { bodySha256: BODY, secondsLeft: DAY }, 1_000)
  expect(known.bodyOf('a')).toEqual(BODY)
  expect(known.bodyOf('b')).toBeUndefined()
  now = 60_999
  expect(known.bodyOf('a')).toEqual(BODY)
  now = 61_000
  expect(known.bodyOf('a')).toBeUndefined()
})

test('a key that expires sooner is known no longer than the ledger keeps it', () => {
  let now = 0
  const known = knownLately(() => now)
  known.add('a', { bodySha256: BODY, secondsLeft: 2 }, 0)
  known.add('kept only for its unfinished work', { bodySha256: BODY, secondsLeft: -5 }, 0)
  expect(known.bodyOf('kept only for its unfinished work')).toBeUndefined()
  now = 1_999
  expect(known.bodyOf('a')).toEqual(BODY)
  now = 2_000
  expect(known.bodyOf('a')).toBeUndefined()
})

test('the oldest make room, and what is told anew is the youngest', () => {
  const known = knownLately(() => 0)
  const add = (id: string): void => known.add(id, { bodySha256: BODY, secondsLeft: DAY }, 0)
  add('first')
  add('second')
  add('first')
  for (let n = 0; n < 8_191; n += 1) add(String(n))
  expect(known.bodyOf('second')).toBeUndefined()
  expect(known.bodyOf('first')).toEqual(BODY)
  add('one more')
  expect(known.bodyOf('first')).toBeUndefined()
  expect(known.bodyOf('one more')).toEqual(BODY)
})
