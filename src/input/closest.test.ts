import { expect, test } from 'vitest'
import { closest, didYouMean } from './closest.ts'

test.each([
  ['serv', ['serve', 'show', 'sources'], 'serve'],
  ['evnets', ['events', 'attention'], 'events'],
  ['type', ['sources', 'types', 'timeoutMs'], 'types'],
  ['tolerance', ['tenant', 'toleranceSeconds'], 'toleranceSeconds'],
  ['SOURCES', ['sources'], 'sources'],
  ['strpe', ['stripe', 'square'], 'stripe'],
  ['--colour', ['--color', '--config'], '--color'],
])('%s is a typo of one of %j', (given, candidates, meant) => {
  expect(closest(given, candidates)).toBe(meant)
})

test.each([
  ['retries', ['sources', 'destinations', 'admin']],
  ['x', ['admin', 'limits']],
  ['', ['a']],
  ['whsec_written_into_the_file', ['whsec', 'secret']],
  ['a'.repeat(100_000), ['a'.repeat(100_000)]],
])('%.20s is not a typo', (given, candidates) => {
  expect(closest(given, candidates)).toBeUndefined()
  expect(didYouMean(given, candidates)).toBe('')
})

test('the closest candidate is suggested', () => {
  expect(didYouMean('invoic', ['in', 'invoice', 'voice'])).toBe(' (did you mean "invoice"?)')
})
