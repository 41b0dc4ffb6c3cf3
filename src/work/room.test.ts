import { expect, test } from 'vitest'
import { type Room, sharedRoom } from './room.ts'

function takeAll(room: Room): number {
  let count = 0
  while (room.free > 0) {
    room.add(1)
    count += 1
  }
  return count
}

test('slots are kept for a worker that has none', () => {
  const shared = sharedRoom(16)
  const [loud, quiet] = [shared.join(), shared.join()]
  expect(takeAll(loud)).toBe(14)
  expect(takeAll(quiet)).toBe(2)
})

test('no slots are kept for a worker that has left', () => {
  const shared = sharedRoom(16)
  const [loud, ended] = [shared.join(), shared.join()]
  ended.leave()
  ended.leave()
  expect(takeAll(loud)).toBe(16)
})

test('with few slots per worker, some are kept for those that have none', () => {
  const shared = sharedRoom(8)
  const [loud, first, second] = Array.from({ length: 8 }, () => shared.join())
  if (!loud || !first || !second) throw new Error('a worker is missing')
  expect(takeAll(loud)).toBe(6)
  expect(takeAll(first)).toBe(1)
  expect(takeAll(second)).toBe(1)

  const three = sharedRoom(3)
  const [hung, other] = [three.join(), three.join(), three.join()]
  expect(takeAll(hung)).toBe(2)
  expect(takeAll(other)).toBe(1)
})

test('a worker with more than its part leaves freed slots to one that was refused', () => {
  let at = 0
  const shared = sharedRoom(8, () => at)
  const [loud, quiet] = [shared.join(), shared.join()]
  let rung = 0
  quiet.onFreed(() => {
    rung += 1
  })
  expect(takeAll(loud)).toBe(7)
  expect(takeAll(quiet)).toBe(1)
  quiet.refused()
  loud.add(-1)
  expect(rung).toBe(1)
  expect(loud.free).toBe(0)
  expect(takeAll(quiet)).toBe(1)
  // The worker took the slots that it wanted, so any worker may take the next freed slot.
  loud.add(-1)
  expect(rung).toBe(1)
  expect(loud.free).toBe(1)

  // A worker that does not ask again, because its ledger is down, does not delay the other workers.
  quiet.refused()
  expect(loud.free).toBe(0)
  at += 1_001
  expect(loud.free).toBe(1)
})

test('a single worker has every slot', () => {
  const shared = sharedRoom(8)
  const room = shared.join()
  room.refused()
  expect(takeAll(room)).toBe(8)
  room.add(-8)
  expect(room.free).toBe(8)
})
