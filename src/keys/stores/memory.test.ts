import { describe, expect, test } from 'vitest'
import { keyStoreContract } from '../contract/index.ts'
import { keyId } from '../identity.ts'
import { memoryKeys } from './memory.ts'

describe('the key store contract, in memory', () => {
  const store = memoryKeys()
  test.concurrent.each(keyStoreContract(['steps', 'sweep', 'pledges']))('$name', ({ run }) => run(store))
})

test('new records sweep expired ones, so memory follows the number of live records', async () => {
  let now = 1_000
  const store = memoryKeys({ now: () => now })
  const request = { fingerprint: 'f', holder: 'h', lockMs: 100, ttlMs: 100, onCrash: 'unknown' } as const
  for (let n = 0; n < 100; n++) await store.acquire(keyId('global', `old ${n}`), request)
  now += 1_000
  for (let n = 0; n < 110; n++) await store.acquire(keyId('global', `new ${n}`), request)
  expect(await store.sweep?.(1_000)).toBe(0)
})
