import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { openVault } from '../ledger/vault/vault.ts'
import { observers } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'
import { isolation } from '../work/isolation.ts'
import { slotsOf } from '../work/slots.ts'
import { suspectClaimer } from './suspects.ts'

test('a worker that loses its lease while it claims suspects keeps no slots for them', async () => {
  const slots = slotsOf({ total: 4, groupOf: (id: number) => id, limitOf: () => 4 })
  const due = [{ shard: 0, subscriber: 1, isAlone: false }]
  const pool = { query: async () => ({ rows: due, rowCount: due.length }) } as unknown as Pool
  const suspects = suspectClaimer({
    pool,
    vault: openVault(pool, []),
    subscribers: [1],
    slots,
    pollMs: 1,
    start: async () => undefined,
    isolation: isolation(1),
    observer: observers([]),
    nudge: bell(),
    stopping: new AbortController().signal,
    worker: () => undefined,
    workerAlone: () => undefined,
    returnAll: async () => undefined,
  })
  expect(await suspects.claim()).toBe(0)
  expect(slots.areAllFree).toBe(true)
})
