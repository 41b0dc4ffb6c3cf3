import { expect, test } from 'vitest'
import { randomFrom } from '../random.ts'
import { type Possible, schedulesFor } from './catalogue.ts'

const possible: Possible = {
  random: randomFrom(7),
  mayKill: true,
  hasRows: true,
  mayAgeRows: true,
  boundaries: [],
  related: undefined,
  rounds: 1,
}

function untriedNames(changes: Partial<Possible>): string[] {
  return schedulesFor({ ...possible, ...changes }).flatMap(({ name, reason }) =>
    reason === undefined ? [] : [name],
  )
}

test('with 30 boundaries, 24 are tried and the others are listed as not tried', () => {
  const boundaries = Array.from({ length: 30 }, (_, number) => `before call POST /${number}`)
  const kills = schedulesFor({ ...possible, boundaries }).filter(({ name }) => name.startsWith('kill '))
  expect(kills.map(({ name }) => name)).toEqual(boundaries.map((at) => `kill ${at}`))
  const dropped = kills.filter(({ reason }) => reason !== undefined)
  expect(dropped.map(({ reason, variants }) => [reason, variants])).toEqual(
    dropped.map(() => [expect.stringContaining('at most 24 boundaries'), []]),
  )
  expect(dropped).toHaveLength(6)
})

test('repeated boundaries are dropped first', () => {
  const once = Array.from({ length: 20 }, (_, number) => `before call POST /${number}`)
  const again = Array.from({ length: 10 }, (_, number) => `before commit of insert into a (${number + 2})`)
  const dropped = untriedNames({ boundaries: [...again, ...once] }).filter((name) => name.startsWith('kill '))
  expect(dropped.every((name) => name.endsWith(')'))).toBe(true)
  expect(dropped).toHaveLength(6)
})

test('a copy hours later needs a receiver that can be started, or rows that may be aged', () => {
  const related = { type: 'invoice.updated', isDefault: true }
  const boundaries = ['before call POST /a']
  expect(untriedNames({ related, boundaries })).toEqual([])
  expect(untriedNames({ related, boundaries, mayAgeRows: false })).toEqual(['hours-later-rows'])
  expect(untriedNames({ related, mayKill: false, hasRows: false })).toEqual([
    'after-restart',
    'hours-later-clock',
    'hours-later-rows',
    'kill',
  ])
})

test('the title of a related type shows that it was chosen by default', () => {
  const titleOf = (isDefault: boolean): string | undefined =>
    schedulesFor({ ...possible, related: { type: 'invoice.updated', isDefault } }).find(
      ({ name }) => name === 'both-orders',
    )?.title
  expect(titleOf(true)).toBe('A related invoice.updated, chosen without --related, arrives first')
  expect(titleOf(false)).toBe('A related invoice.updated arrives first')
  expect(untriedNames({})).toContain('both-orders')
})
