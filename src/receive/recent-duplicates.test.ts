import { expect, test } from 'vitest'
import type { KnownReceipt } from '../ledger/receipts/known-receipts.ts'
import { recentDuplicates } from './recent-duplicates.ts'

const BODY = Uint8Array.of(1, 2, 3)
const DAY = 86_400
const PRIMARY = 1
const STANDBY = 2

function reported(secondsLeft = DAY, server = PRIMARY): KnownReceipt {
  return { bodySha256: BODY, reconciled: false, secondsLeft, server }
}

test('a report of the ledger is used for a minute, from the time of the query', () => {
  let now = 2_000
  const known = recentDuplicates(() => now)
  known.add('a', reported(), 1_000)
  expect(known.bodyOf('a')).toEqual(BODY)
  expect(known.bodyOf('b')).toBeUndefined()
  now = 60_999
  known.answered(PRIMARY, now)
  expect(known.bodyOf('a')).toEqual(BODY)
  now = 61_000
  expect(known.bodyOf('a')).toBeUndefined()
})

test('a key that expires sooner is used no longer than the ledger keeps it', () => {
  let now = 0
  const known = recentDuplicates(() => now)
  known.add('a', reported(2), 0)
  known.add('kept only for its unfinished work', reported(-5), 0)
  expect(known.bodyOf('kept only for its unfinished work')).toBeUndefined()
  now = 1_999
  expect(known.bodyOf('a')).toEqual(BODY)
  now = 2_000
  expect(known.bodyOf('a')).toBeUndefined()
})

test('the oldest entries are replaced, and a new report makes an entry the youngest', () => {
  const known = recentDuplicates(() => 0)
  const add = (id: string): void => known.add(id, reported(), 0)
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

test('a report is not used after a lost connection, nor a report that was in transit at that time', () => {
  let now = 0
  const known = recentDuplicates(() => now)
  known.add('a', reported(), 0)
  now = 10
  known.forget()
  known.add('on its way', reported(), 9)
  expect(known.bodyOf('a')).toBeUndefined()
  expect(known.bodyOf('on its way')).toBeUndefined()
  known.add('asked again', reported(), 10)
  expect(known.bodyOf('asked again')).toEqual(BODY)
})

test('a report is not used once another server answers', () => {
  const known = recentDuplicates(() => 0)
  known.add('a', reported(), 0)
  known.add('b', reported(), 0)
  known.answered(PRIMARY, 0)
  expect(known.bodyOf('a')).toEqual(BODY)
  known.answered(STANDBY, 0)
  expect(known.bodyOf('a')).toBeUndefined()
  known.add('c', reported(DAY, STANDBY), 0)
  known.add('d', reported(DAY, STANDBY), 0)
  expect([known.bodyOf('b'), known.bodyOf('c'), known.bodyOf('d')]).toEqual([undefined, BODY, BODY])
})

test('a report is not used while the server does not answer, and used again once it answers', () => {
  let now = 0
  const known = recentDuplicates(() => now)
  known.add('a', reported(), 0)
  now = 3_000
  expect(known.bodyOf('a')).toEqual(BODY)
  now = 3_001
  expect(known.bodyOf('a')).toBeUndefined()
  known.answered(PRIMARY, 3_001)
  expect(known.bodyOf('a')).toEqual(BODY)
})
