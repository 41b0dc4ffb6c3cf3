import { expect, test } from 'vitest'
import { acceptQuantileMs } from './accept-quantile.ts'
import { countDeltas } from './count-deltas.ts'
import { meter } from './metrics.ts'
import type { DeliveryFact } from './observer.ts'

const delivery = (outcome: DeliveryFact['outcome'], more: Partial<DeliveryFact> = {}): DeliveryFact => ({
  source: 'test',
  outcome,
  status: 200,
  durationMs: 3,
  ...more,
})
const tenantOf = (source: string): string => `tenant of ${source}`

test('a delta holds what was counted since the last snapshot, by source and subscriber', () => {
  const { observer, snapshot } = meter()
  observer.delivery(delivery('recorded'))
  const before = snapshot(undefined)
  observer.delivery(delivery('recorded', { durationMs: 70_000 }))
  observer.delivery(delivery('mismatch'))
  observer.delivery(delivery('rejected', { code: 'SIGNATURE_MISMATCH' }))
  observer.delivery(delivery('rejected', { code: 'TIMESTAMP_TOO_OLD' }))
  observer.delivery(delivery('rejected', { code: 'BODY_TOO_LARGE' }))
  observer.attempt({
    source: 'test',
    subscriber: 'app',
    receiptId: 'r',
    attempt: 1,
    outcome: 'stale',
    durationMs: 1,
    ageMs: 1,
  })
  const effect = {
    source: 'test',
    subscriber: 'app',
    receiptId: 'r',
    key: 'k',
    mode: 'keyed',
    durationMs: 1,
  } as const
  observer.effectEnded?.({ ...effect, outcome: 'recorded' })
  observer.effectEnded?.({ ...effect, outcome: 'done' })
  const after = snapshot(undefined)

  const deltas = countDeltas(before, after, tenantOf)
  expect(deltas).toMatchObject([
    {
      tenant: 'tenant of test',
      source: 'test',
      subscriber: '',
      received: 1,
      duplicate: 1,
      mismatch: 1,
      rejected: 3,
      unsigned: 2,
      processed: 0,
    },
    { source: 'test', subscriber: 'app', received: 0, processed: 1, stale: 1, spared: 1 },
  ])
  // One duration of 3 ms, and one above the last bound.
  expect(deltas[0]?.accept).toEqual([0, 0, 1, ...Array(12).fill(0), 1])
  expect(countDeltas(after, snapshot(undefined), tenantOf)).toEqual([])
})

test('a quantile is the upper bound of its bucket', () => {
  expect(acceptQuantileMs([], 0.5)).toBe(null)
  expect(acceptQuantileMs([0, 99, 0, 1], 0.5)).toBe(2.5)
  expect(acceptQuantileMs([0, 99, 0, 1], 0.99)).toBe(2.5)
  expect(acceptQuantileMs([0, 98, 0, 2], 0.99)).toBe(10)
  expect(acceptQuantileMs([...Array(15).fill(0), 5], 0.5)).toBe(60_000)
})
