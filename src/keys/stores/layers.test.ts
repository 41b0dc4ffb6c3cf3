import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keyStoreContract } from '../contract/index.ts'
import { keyId } from '../identity.ts'
import type { KeyStore } from '../store.ts'
import { cachedKeys } from './cached.ts'
import { memoryKeys } from './memory.ts'
import { type Seal, sealedKeys } from './sealed.ts'

const KEY = randomBytes(32)
const aes: Seal = {
  seal(bytes, id) {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', KEY, iv).setAAD(Buffer.from(id))
    return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  },
  open(bytes, id) {
    const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, 12)).setAAD(Buffer.from(id))
    decipher.setAuthTag(bytes.subarray(-16))
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
  },
}

describe('the contract of key stores, through every layer', () => {
  const store = cachedKeys(sealedKeys(memoryKeys(), aes))
  test.concurrent.each(keyStoreContract(['steps', 'sweep', 'pledges']))('$name', ({ run }) => run(store))
})

const request = { fingerprint: 'f', holder: 'h', lockMs: 60_000, ttlMs: 60_000, onCrash: 'unknown' } as const
const id = keyId('global', 'k')

async function complete(store: KeyStore, text: string): Promise<void> {
  const { record } = await store.acquire(id, request)
  await store.settle(id, record.fence, { to: 'completed', result: Buffer.from(text), ttlMs: 60_000 })
}

test('a sealed result is not readable in the store, and a moved one does not open', async () => {
  const inner = memoryKeys()
  const store = sealedKeys(inner, aes)
  await complete(store, 'secret')
  const kept = (await inner.read(id))?.result ?? new Uint8Array()
  expect(Buffer.from(kept).includes('secret')).toBe(false)
  expect(() => aes.open(kept, keyId('global', 'other'))).toThrow()
  expect(String((await store.acquire(id, request)).record.result)).toBe('secret')
})

test('replays of what is cached ask nobody, but another fingerprint is never served from it', async () => {
  const inner = memoryKeys()
  let asked = 0
  const counting: KeyStore = {
    ...inner,
    acquire(...args) {
      asked++
      return inner.acquire(...args)
    },
  }
  const store = cachedKeys(counting)
  await complete(store, 'done')
  await store.acquire(id, request)
  expect(asked).toBe(2)
  for (let n = 0; n < 5; n++) expect((await store.acquire(id, request)).outcome).toBe('completed')
  expect(asked).toBe(2)
  expect((await store.acquire(id, { ...request, fingerprint: 'other' })).outcome).toBe('mismatch')
  expect(asked).toBe(3)
})

test('the cache stays within its bytes', async () => {
  const inner = memoryKeys()
  let asked = 0
  const store = cachedKeys(
    {
      ...inner,
      acquire(...args) {
        asked++
        return inner.acquire(...args)
      },
    },
    { maxBytes: 5_000 },
  )
  await complete(store, 'x'.repeat(10_000))
  await store.acquire(id, request)
  await store.acquire(id, request)
  expect(asked).toBe(3)
})
