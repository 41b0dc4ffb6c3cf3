import { expect, test } from 'vitest'
import { interestOf, interestText } from './interest.ts'

test.each([
  [['*'], false, '*'],
  [['invoice.*'], true, 'invoice.* (filtered)'],
  [['invoice.*', 'charge.refunded'], true, 'invoice.*, charge.refunded (filtered)'],
])('%j is stored and read again', (patterns, isFiltered, text) => {
  expect(interestText(patterns, isFiltered)).toBe(text)
  const interest = interestOf(text)
  expect(interest.isFiltered).toBe(isFiltered)
  expect(interest.wantsType(patterns[0]?.replace('*', 'x') ?? '')).toBe(true)
  expect(interest.wantsType('customer.created')).toBe(patterns.includes('*'))
})

test('any of several patterns may match', () => {
  const { wantsType } = interestOf('invoice.*, charge.refunded')
  expect(['invoice.paid', 'charge.refunded', 'charge.failed'].map(wantsType)).toEqual([true, true, false])
})
