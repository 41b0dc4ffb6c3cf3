import fc from 'fast-check'
import { expect, test } from 'vitest'
import { typeMatcher } from './type-pattern.ts'

test.each([
  ['invoice.paid', 'invoice.paid', true],
  ['invoice.paid', 'invoice.paid.late', false],
  ['invoice.*', 'invoice.paid', true],
  ['invoice.*', 'invoice.', true],
  ['invoice.*', 'invoice', false],
  ['invoice.*', 'customer.created', false],
  ['*', '', true],
  ['*', 'anything at all', true],
  ['**', 'anything', true],
  ['*.paid', 'invoice.paid', true],
  ['*.paid', 'invoice.paid.late', false],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['invoice.(paid)', 'invoice.(paid)', true],
  ['invoice.p.*', 'invoiceXp.1', false],
])('%s against %s is %s', (pattern, type, matches) => {
  expect(typeMatcher(pattern)(type)).toBe(matches)
})

test('a pattern matches what a regular expression of the same meaning matches', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 })
  const types = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 })
  fc.assert(
    fc.property(letters, types, (pattern, type) => {
      const same = new RegExp(
        `^${pattern
          .split('*')
          .map((part) => part.replaceAll('.', '\\.'))
          .join('.*')}$`,
      )
      expect(typeMatcher(pattern)(type)).toBe(same.test(type))
    }),
    { numRuns: 1_000 },
  )
})
