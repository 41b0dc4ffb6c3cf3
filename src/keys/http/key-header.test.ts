import { expect, test } from 'vitest'
import { parseKey } from './key-header.ts'

test.each([
  ['a1b2', 'a1b2'],
  ['"a1b2"', 'a1b2'],
  [' a1b2 ', 'a1b2'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"a,b"', 'a,b'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('%s is the key %s', (header, key) => {
  expect(parseKey([header])).toBe(key)
})

test.each([
  ['empty', ['']],
  ['empty quotes', ['""']],
  ['too long', ['x'.repeat(256)]],
  ['a space inside', ['a b']],
  ['a space inside quotes', ['"a b"']],
  ['not ASCII', ['clé']],
  ['an open quote', ['"a']],
  ['something after the quotes', ['"a"b']],
  ['two headers joined', ['a, b']],
  ['two quoted headers joined', ['"a", "b"']],
  ['two headers joined without a space', ['a,b']],
  ['two headers', ['a', 'a']],
])('%s is refused', (_, values) => {
  expect(() => parseKey(values)).toThrow('KEY_MALFORMED')
})

test('no header is no key', () => {
  expect(parseKey([])).toBeUndefined()
})
