import { describe, expect, test } from 'vitest'
import { keyStoreContract } from '../contract/index.ts'
import { keyId } from '../identity.ts'
import { memoryKeys } from './memory.ts'

describe('the contract of key stores, in memory', () => {
  const store = memoryKeys()
  test.concurrent.each(keyStoreContract(['steps', 'sweep', 'pledges']))('$name', ({ run }) => run(store))
})

test('memory follows what is live: expired records go as new ones come', async () => {
  let now = 1_000
  const store = memoryKeys({ now: () => now })
  const request = { fingerprint: 'f', holder: 'h', lockMs: 100, ttlMs: 100, onCrash: 'unknown' } as const
  for (let n = 0; n < 100; n++) await store.acquire(keyId('global', `old ${n}`), request)
  now += 1_000
  for (let n = 0; n < 110; n++) await store.acquire(keyId('global', `new ${n}`), request)
  expect(await store.sweep?.(1_000)).toBe(0)
})
