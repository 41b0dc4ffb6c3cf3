import { expect, test } from 'vitest'
import { completionsAt, filterOf, searchOf, wordsOf } from './tokens.ts'

test('tokens, quoted values and free text become one filter', () => {
  expect(filterOf('source:stripe type:invoice.* error:"no such customer" since:2h evt_1 in_2')).toEqual({
    source: 'stripe',
    type: 'invoice.*',
    error: 'no such customer',
    since: '2h',
    q: 'evt_1 in_2',
  })
  expect(filterOf('  ')).toEqual({})
  expect(filterOf('state:failed state:attention')).toEqual({ state: 'attention' })
})

test('a name without a value, an open quote and an unknown name are kept', () => {
  expect(filterOf('source: failed')).toEqual({ q: 'failed' })
  expect(filterOf('error:"no cust')).toEqual({ error: 'no cust' })
  // An event key may contain a colon.
  expect(filterOf('order:17')).toEqual({ q: 'order:17' })
  expect(filterOf('key:a:b until:2026-01-01T00:00:00Z')).toEqual({
    key: 'a:b',
    until: '2026-01-01T00:00:00Z',
  })
})

test('a filter is written as the search that it was parsed from', () => {
  for (const text of ['source:stripe', 'error:"no customer" since:2h', 'evt_1 in_2', ''])
    expect(filterOf(searchOf(filterOf(text)))).toEqual(filterOf(text))
})

test('words have their position', () => {
  const text = 'a source:"x y"  b'
  expect(wordsOf(text).map(({ from, to }) => text.slice(from, to))).toEqual(['a', 'source:"x y"', 'b'])
})

test('completion at the caret offers names, then values, and keeps the rest of the search', () => {
  const known = { source: ['stripe', 'github', 'my shop'] }
  expect(completionsAt('so', 2, known)).toEqual([
    { label: 'source:', text: 'source:', caret: 7, isName: true },
  ])
  expect(completionsAt('source: type:x', 7, known).map(({ text }) => text)).toEqual([
    'source:stripe type:x',
    'source:github type:x',
    'source:"my shop" type:x',
  ])
  expect(completionsAt('source:GIT', 10, known)).toEqual([
    { label: 'github', text: 'source:github ', caret: 14, isName: false },
  ])
  expect(completionsAt('', 0, known).length).toBe(10)
  expect(completionsAt('evt_1', 5, known)).toEqual([])
  expect(completionsAt('state:fail', 10, known).map(({ label }) => label)).toEqual(['failed'])
})
