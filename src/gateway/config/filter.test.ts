import { expect, test } from 'vitest'
import { check } from '../../input/checked.ts'
import type { Event } from '../../model/event.ts'
import { compileFilter, type Filter, filterFault, filterSchema } from './filter.ts'

const payload = {
  livemode: true,
  data: { object: { amount: 4200, price: '12.50', currency: 'eur', note: null, 'a.b': 1 } },
  items: [{ sku: 'A-1' }, { sku: 'B-2' }],
}
const headers = { 'x-shop': 'a.example', 'x-count': '7' }
const event = { payload, headers } as unknown as Event

test.each<[boolean, Filter]>([
  [true, { body: 'livemode', equals: true }],
  [false, { body: 'livemode', equals: 'true' }],
  [true, { body: 'data.object.amount', equals: 4200 }],
  [true, { body: 'data.object.note', equals: null }],
  [false, { body: 'data.object.missing', equals: null }],
  [true, { body: 'data.object.currency', in: ['usd', 'eur'] }],
  [false, { body: 'data.object.currency', in: ['usd'] }],
  [true, { body: 'data.object.note', exists: true }],
  [false, { body: 'data.object.missing', exists: true }],
  [true, { body: 'data.object.missing.deeper', exists: false }],
  [true, { body: 'items.1.sku', prefix: 'B-' }],
  [false, { body: 'items.2.sku', prefix: 'B-' }],
  [true, { body: ['data', 'object', 'a.b'], equals: 1 }],
  [true, { body: 'data.object.amount', greaterThan: 4199, lessThan: 4201 }],
  [false, { body: 'data.object.amount', greaterThan: 4200 }],
  [true, { body: 'data.object.amount', atLeast: 4200, atMost: 4200 }],
  [true, { body: 'data.object.price', atLeast: 12.5 }],
  [false, { body: 'data.object.currency', lessThan: 1 }],
  [false, { body: 'data.object.note', lessThan: 1 }],
  [true, { header: 'x-shop', equals: 'a.example' }],
  [true, { header: 'x-count', atLeast: 7 }],
  [false, { header: 'x-missing', exists: true }],
  [false, { header: 'constructor', exists: true }],
  [false, { body: 'constructor.name', exists: true }],
  [false, { body: 'items.length', exists: true }],
  [
    true,
    {
      all: [
        { body: 'livemode', equals: true },
        { header: 'x-shop', prefix: 'a' },
      ],
    },
  ],
  [
    false,
    {
      all: [
        { body: 'livemode', equals: true },
        { header: 'x-shop', prefix: 'b' },
      ],
    },
  ],
  [
    true,
    {
      any: [
        { body: 'livemode', equals: false },
        { header: 'x-shop', prefix: 'a' },
      ],
    },
  ],
  [true, { not: { any: [{ body: 'livemode', equals: false }] } }],
])('%s: %j', (passes, filter) => {
  const checked = filterSchema.parse(filter)
  expect(filterFault(checked)).toBeUndefined()
  expect(compileFilter(checked)(event)).toBe(passes)
})

test('a body that is not an object passes only a filter without conditions', () => {
  for (const body of [undefined, null, 'text', 7, []]) {
    const odd = { payload: body, headers: {} } as unknown as Event
    expect(compileFilter({ body: 'a.b', exists: false })(odd)).toBe(true)
    expect(compileFilter({ body: 'a.b', equals: 'x' })(odd)).toBe(false)
  }
})

const one: Filter = { body: 'a', exists: true }
const deep = (levels: number): Filter => (levels === 0 ? one : { not: deep(levels - 1) })

test.each<[string, Filter]>([
  ['a condition needs a "body" path or a "header", and not both', { equals: 1 }],
  ['a condition needs a "body" path or a "header", and not both', { body: 'a', header: 'b', equals: 1 }],
  ['a condition needs one of equals, in, exists', { all: [{ body: 'a' }] }],
  ['conditions may be nested 5 deep', deep(5)],
  ['at most 100 conditions are allowed', { any: Array.from({ length: 101 }, () => one) }],
  ['a path has at most 32 parts', { body: 'a.'.repeat(32), exists: true }],
])('refused: %s', (fault, filter) => {
  expect(filterFault(filterSchema.parse(filter))?.message).toContain(fault)
})

test('nesting within the limit is allowed', () => {
  expect(filterFault(deep(4))).toBeUndefined()
})

test('a fault is reported at its condition, at any depth', () => {
  const filter: Filter = { any: [one, { not: { all: [one, { body: 'b' }] } }] }
  expect(filterFault(filter)?.path).toEqual(['any', 1, 'not', 'all', 1])
})

test.each<[unknown, string]>([
  [{ all: [{ body: 'a', atLeast: '5' }] }, 'all.0.atLeast: must be a number; it is the text "5"'],
  [{ any: [one, { body: 'a', atLeast: true }] }, 'any.1.atLeast: must be a number; it is true'],
  [
    { not: { any: [{ heder: 'a', equals: 1 }] } },
    'not.any.0: unknown "heder" (did you mean "header"?); allowed: body',
  ],
  [{ any: one }, 'any: must be an array; it is an object'],
  [{ all: [] }, 'all: must not be empty'],
  [{ not: 'x' }, 'not: expected a condition such as'],
  [{ al: [one] }, 'unknown "al" (did you mean "all"?); allowed: body, header, equals'],
  [{ all: [one], body: 'a' }, 'unknown "body"; allowed: all'],
  [{ body: 'a', equals: { b: 1 } }, 'equals: expected a text, a number, true, false or null'],
  [7, 'expected a condition such as'],
])('the wrong part is named: %j', (filter, says) => {
  expect(() => check(filterSchema, filter, 'where')).toThrow(says)
})
