import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault } from './json-fault.ts'

test.each([
  ['{"a": }', 6, 'a value'],
  ['{"a": 1,}', 8, 'a key in double quotes'],
  ["{'a': 1}", 1, 'a key in double quotes or "}"'],
  ['{"a" 1}', 5, '":"'],
  ['{"a": 1 "b": 2}', 8, '"," or "}"'],
  ['[1 2]', 3, '"," or "]"'],
  ['[1,]', 3, 'a value'],
  ['{"a":', 5, 'a value'],
  ['{} x', 3, 'the end of the file'],
  ['{"a": "x\n"}', 6, 'a value'],
  ['{"a": truely}', 6, 'a value'],
  ['{"a": 01}', 6, 'a value'],
  ['// comment', 0, 'a value'],
  ['', 0, 'a value'],
  ['{]', 1, 'a key in double quotes or "}"'],
])('%s is at fault at %d', (text, offset, expected) => {
  expect(() => JSON.parse(text)).toThrow()
  expect(jsonFault(text)).toEqual({ offset, expected })
})

test('valid JSON has no fault, and truncated JSON has one', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(jsonFault(` ${text}\n`)).toBeUndefined()
      if (/^[[{"]/.test(text)) expect(jsonFault(text.slice(0, -1))).toBeDefined()
    }),
    { numRuns: 500 },
  )
})
