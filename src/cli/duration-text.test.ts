import { expect, test } from 'vitest'
import { durationText } from './duration-text.ts'

test.each([
  [0, '0 ms'],
  [850, '850 ms'],
  [1_000, '1 s'],
  [1_250, '1.3 s'],
  [42_400, '42 s'],
  [99_000, '99 s'],
  [100_000, '1.7 min'],
  [5_400_000, '90 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%i ms is shown as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
