import fc from 'fast-check'
import { expect, test } from 'vitest'
import { downstreamKey, effectDownstreamKey } from './downstream-key.ts'

const step = { receiptId: '00000000-0000-0000-0000-000000000001', subscriber: 'app', name: 'mail', epoch: 0 }

test('a key never changes between versions: a service that deduplicates by it would act again', () => {
  expect(downstreamKey(step)).toBe('ce66d271aeb73c85023cca05207f714128cb1467')
})

test('each part changes the key, and parts have boundaries', () => {
  const names = fc.record({
    receiptId: fc.string(),
    subscriber: fc.string(),
    name: fc.string(),
    epoch: fc.nat(3),
  })
  fc.assert(
    fc.property(names, names, (one, two) => {
      const same = JSON.stringify(one) === JSON.stringify(two)
      expect(downstreamKey(one) === downstreamKey(two)).toBe(same)
    }),
  )
  expect(downstreamKey({ ...step, subscriber: 'appm', name: 'ail' })).not.toBe(downstreamKey(step))
})

test('a key is short and plain enough for any header', () => {
  expect(downstreamKey({ ...step, name: 'ünï\ncode'.repeat(100) })).toMatch(/^[0-9a-f]{40}$/)
})

test('the key of an effect contains no event, never changes, and differs from keys of steps', () => {
  const effect = { tenant: 'default', key: 'mail:in_1', epoch: 0 }
  expect(effectDownstreamKey(effect)).toBe('0324e35649984a6500da8256becf0b2fcd927aec')
  const others = [
    { ...effect, epoch: 1 },
    { ...effect, tenant: 'other' },
    { ...effect, key: 'mail:in_2' },
  ]
  expect(new Set([effect, ...others].map(effectDownstreamKey)).size).toBe(4)
})
