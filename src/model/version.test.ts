import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareVersions, readableVersion, type VersionInput, versionOf } from './version.ts'

const order = (a: VersionInput, b: VersionInput): number =>
  Math.sign(compareVersions(versionOf(a), versionOf(b)))

test('numbers compare as numbers, however they are given', () => {
  expect(order(9, 10)).toBe(-1)
  expect(order(9n, { as: 'number', value: '10' })).toBe(-1)
  expect(order({ as: 'number', value: '1.10' }, { as: 'number', value: '1.1' })).toBe(0)
  expect(order({ as: 'number', value: '-1.5' }, { as: 'number', value: '-1.25' })).toBe(-1)
  expect(
    order({ as: 'number', value: '9007199254740993' }, { as: 'number', value: '9007199254740992' }),
  ).toBe(1)
  fc.assert(
    fc.property(fc.integer(), fc.integer(), (a, b) => {
      expect(order(a, b)).toBe(a === b ? 0 : a < b ? -1 : 1)
    }),
  )
})

test('timestamps compare as moments, to the nanosecond', () => {
  const at = (value: string) => ({ as: 'timestamp', value }) as const
  expect(order(at('2026-01-01T00:00:00Z'), at('2026-01-01T01:00:00+01:00'))).toBe(0)
  expect(order(at('2026-01-01T00:00:00.000001Z'), at('2026-01-01T00:00:00.0000009Z'))).toBe(1)
  expect(order(new Date(1), new Date(2))).toBe(-1)
  expect(order(new Date(Date.UTC(2026, 0)), at('2026-01-01T00:00:00.0Z'))).toBe(0)
})

test('texts compare by their bytes', () => {
  expect(order('v10', 'v9')).toBe(-1)
  expect(order('a', 'B')).toBe(1)
})

test('what is no version of its kind says so; one from outside is left out', () => {
  expect(() => versionOf(Number.NaN)).toThrow(/VERSION_INVALID/)
  expect(() => versionOf(new Date(Number.NaN))).toThrow(/VERSION_INVALID/)
  expect(readableVersion({ as: 'timestamp', value: 'yesterday' })).toBeUndefined()
  expect(readableVersion({ as: 'number', value: '1e5' })).toBeUndefined()
})
