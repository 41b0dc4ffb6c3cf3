import { expect, test } from 'vitest'
import { type Slots, slotsOf } from './slots.ts'

/** Keys are `tenant/group/name`; groups have a limit of four unless their name is a number. */
function slots(total: number, keys: readonly string[]): Slots<string> {
  const groupOf = (key: string) => key.split('/')[1]
  return slotsOf<string, string>({
    total,
    groupOf,
    limitOf: (group) => Number(group) || 4,
    tenantOf: (key) => key.split('/')[0] ?? '',
    groups: new Set(keys.map((key) => groupOf(key) ?? '')),
  })
}

function takeAll(from: Slots<string>, key: string): number {
  let count = 0
  while (from.take(key)) count += 1
  return count
}

test('a group takes no more than its limit, over all of its keys', () => {
  const all = slots(100, ['t/a/1', 't/a/2'])
  expect(all.take('t/a/2')).toBe(true)
  expect(takeAll(all, 't/a/1')).toBe(3)
  expect(all.take('t/a/2')).toBe(false)
  all.giveBack('t/a/1', 1)
  expect(all.take('t/a/2')).toBe(true)
  expect(all.free).toBe(96)
})

test('slots are kept for idle groups, one each, but no more than a quarter', () => {
  const three = slots(8, ['t/99/a', 't/98/b', 't/97/c'])
  expect(takeAll(three, 't/99/a')).toBe(6)
  expect(takeAll(three, 't/98/b')).toBe(1)
  expect(takeAll(three, 't/97/c')).toBe(1)

  const many = slots(
    8,
    Array.from({ length: 50 }, (_, n) => `t/${50 + n}/x`),
  )
  expect(takeAll(many, 't/99/x')).toBe(6)
  expect(takeAll(slots(8, ['t/99/a']), 't/99/a')).toBe(8)
  expect(takeAll(slots(3, ['t/99/a', 't/98/b']), 't/99/a')).toBe(3)
})

test('a group that has given back its last slot is idle again', () => {
  const both = slots(8, ['t/99/a', 't/98/b'])
  expect(both.take('t/98/b')).toBe(true)
  expect(takeAll(both, 't/99/a')).toBe(7)
  both.giveBack('t/98/b', 1)
  expect(both.take('t/99/a')).toBe(false)
  expect(both.take('t/98/b')).toBe(true)
})

test('tenants share equally, and so do the keys of each', () => {
  const keys = ['loud/91/a', 'loud/92/b', 'loud/93/c', 'quiet/94/d']
  expect([...slots(12, keys).share(keys, 100)].sort()).toEqual([
    ['loud/91/a', 2],
    ['loud/92/b', 2],
    ['loud/93/c', 2],
    ['quiet/94/d', 6],
  ])
})

test('the key with the fewest slots is served first', () => {
  const keys = ['loud/91/a', 'quiet/92/b']
  const all = slots(8, keys)
  expect(takeAll(all, 'loud/91/a')).toBe(7)
  expect(all.take('quiet/92/b')).toBe(true)
  all.giveBack('loud/91/a', 3)
  expect([...all.share(keys, 100)]).toEqual([['quiet/92/b', 3]])
})

test('the share of a rival is left to it, and stays free', () => {
  const all = slots(8, ['loud/91/a', 'quiet/92/b'])
  expect([...all.share(['loud/91/a'], 100, ['loud/91/a', 'quiet/92/b'])]).toEqual([['loud/91/a', 4]])
  expect(all.free).toBe(4)
  expect([...all.share(['quiet/92/b'], 100, ['loud/91/a', 'quiet/92/b'])]).toEqual([['quiet/92/b', 4]])
})

test('no more slots are taken than wanted, and none for a key without a group', () => {
  const all = slots(8, ['t/91/a'])
  expect([...all.share(['t/91/a', 'unknown'], 3)].filter(([key]) => key === 't/91/a')).toEqual([
    ['t/91/a', 3],
  ])
  expect(all.take('unknown')).toBe(false)
  expect(all.free).toBe(5)
})
