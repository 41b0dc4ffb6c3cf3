import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import { firestoreKeys, type KeyStore, keyId, once } from '../../src/keys/index.ts'
import { NEEDS_FIRESTORE_EMULATOR } from '../support/declared-skips.ts'
import { type FirestoreUnderTest, startFirestore } from '../support/firestore.ts'

let server: FirestoreUnderTest
let store: KeyStore
beforeAll(async () => {
  server = await startFirestore()
  store = firestoreKeys({ client: server.client(), skewMs: 100 })
})
afterAll(() => server.remove())

describe('the contract of key stores, in Firestore', () => {
  for (const { name, run, races } of keyStoreContract(['steps']))
    test(name, (context) => {
      if (races) context.skip(!server.isolates, NEEDS_FIRESTORE_EMULATOR)
      return run(store)
    })
})

test('the reference lists the behaviour that needs an emulator', () => {
  const reference = readFileSync('docs/reference/keys.md', 'utf8').replaceAll('`', '').replace(/\s+/g, ' ')
  expect(reference).toContain(NEEDS_FIRESTORE_EMULATOR)
})

test('of first claims by many clients at once one wins', async () => {
  const stores = Array.from({ length: 5 }, () => firestoreKeys({ client: server.client() }))
  let runs = 0
  const asking = stores.flatMap((store) =>
    Array.from({ length: 5 }, () => once(store, 'many', () => ++runs, { tenant: 'global', waitMs: 20_000 })),
  )
  expect(new Set(await Promise.all(asking))).toEqual(new Set([1]))
})

test('a fast clock does not take over a lock that is live by the other clocks', async () => {
  const id = keyId('global', 'skew')
  const client = server.client()
  let now = 1_900_000_000_000
  const request = { fingerprint: 'f', lockMs: 1_000, ttlMs: 9_000, onCrash: 'takeover' } as const
  const behind = firestoreKeys({ client, now: () => now, skewMs: 500 })
  const ahead = firestoreKeys({ client, now: () => now + 500, skewMs: 500 })
  await behind.acquire(id, { ...request, holder: 'behind' })
  now += 999
  expect((await ahead.acquire(id, { ...request, holder: 'ahead' })).outcome).toBe('locked')
  now += 1
  expect((await ahead.acquire(id, { ...request, holder: 'ahead' })).record.after).toBe('crash')
})

test('results up to the limit of a document are kept; options above it are refused', async () => {
  const options = { tenant: 'global', maxResultBytes: store.maxResultBytes ?? 0 }
  const large = 'x'.repeat(options.maxResultBytes - 2)
  await once(store, 'large', () => large, options)
  expect(await once(store, 'large', () => 'another', options)).toBe(large)
  const more = { ...options, maxResultBytes: options.maxResultBytes + 1 }
  await expect(once(store, 'larger', () => 1, more)).rejects.toThrow(/CONFIG_INVALID.*maxResultBytes/)
})
