import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { receiptIds, shardOf } from './receipt-id.ts'

test('an id is the first half of SHA-256 over the length-prefixed parts', () => {
  const parts = ['default', 'stripe', 'evt_1']
  const hash = createHash('sha256')
  for (const part of parts) hash.update(Buffer.from([0, 0, 0, part.length])).update(part)
  const hex = hash.digest('hex').slice(0, 32)
  expect(receiptIds('default', 'stripe')('evt_1').replaceAll('-', '')).toBe(hex)
})

test('two events have the same id only if tenant, source and key are the same', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 6 })
  const event = fc.tuple(text, text, text)
  fc.assert(
    fc.property(event, event, (one, two) => {
      const same = one.every((part, index) => Buffer.from(part).equals(Buffer.from(two[index] ?? '')))
      expect(idOf(one) === idOf(two)).toBe(same)
    }),
  )
  expect(idOf(['a', 'bc', 'd'])).not.toBe(idOf(['ab', 'c', 'd']))
  expect(idOf(['', '', 'ab'])).not.toBe(idOf(['', 'a', 'b']))
})

test('every id has a shard within bounds, and ids spread over all shards', () => {
  const seen = new Set<number>()
  for (let n = 0; n < 1_000; n += 1) {
    const shard = shardOf(idOf(['default', 'stripe', `evt_${n}`]), 16)
    expect(shard).toBeGreaterThanOrEqual(0)
    expect(shard).toBeLessThan(16)
    seen.add(shard)
  }
  expect(seen.size).toBe(16)
})

function idOf([tenant, source, key]: readonly [string, string, string]): string {
  return receiptIds(tenant, source)(key)
}
