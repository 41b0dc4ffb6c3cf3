import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keyStoreContract } from '../contract/index.ts'
import type { AcquireRequest, Settlement } from '../decide.ts'
import { keyId } from '../identity.ts'
import type { KeyId, KeyPledges, KeySteps, KeyStore, Pledge, PledgeTimes } from '../store.ts'
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

describe('the key store contract, through every layer', () => {
  const store = cachedKeys(sealedKeys(memoryKeys(), aes))
  test.concurrent.each(keyStoreContract(['steps', 'sweep', 'pledges']))('$name', ({ run }) => run(store))
})

/** A store as a user might write it. */
class OwnKeys implements KeyStore {
  readonly #inner = memoryKeys()
  readonly pledges = new OwnPledges(this.#inner.pledges)

  acquire(id: KeyId, request: AcquireRequest) {
    return this.#inner.acquire(id, request)
  }
  extend(id: KeyId, fence: number, lock: Pick<AcquireRequest, 'lockMs' | 'ttlMs'>) {
    return this.#inner.extend(id, fence, lock)
  }
  settle(id: KeyId, fence: number, settlement: Settlement) {
    return this.#inner.settle(id, fence, settlement)
  }
  read(id: KeyId) {
    return this.#inner.read(id)
  }
  async sweep(limit: number) {
    return (await this.#inner.sweep?.(limit)) ?? 0
  }
  get steps(): KeySteps {
    if (!this.#inner.steps) throw new Error('memory keeps steps')
    return this.#inner.steps
  }
  get maxResultBytes() {
    return 1_000_000
  }
  /** A method beside the contract. */
  flush() {
    return this.#inner.close()
  }
  close() {
    return this.#inner.close()
  }
}

class OwnPledges implements KeyPledges {
  readonly #inner: KeyPledges | undefined

  constructor(inner: KeyPledges | undefined) {
    this.#inner = inner
  }
  async save(id: KeyId, pledge: Pledge, times: PledgeTimes) {
    await this.#inner?.save(id, pledge, times)
  }
  async due(name: string, limit: number, leaseMs: number) {
    return (await this.#inner?.due(name, limit, leaseMs)) ?? []
  }
  async drop(id: KeyId, name: string) {
    await this.#inner?.drop(id, name)
  }
}

describe('the key store contract, through every layer over a class instance', () => {
  const store = cachedKeys(sealedKeys(new OwnKeys(), aes))
  test.concurrent.each(keyStoreContract(['steps', 'sweep', 'pledges']))('$name', ({ run }) => run(store))

  test('members beside the contract are passed through', async () => {
    expect(store.maxResultBytes).toBe(1_000_000)
    await store.flush()
  })
})

const request = { fingerprint: 'f', holder: 'h', lockMs: 60_000, ttlMs: 60_000, onCrash: 'unknown' } as const
const id = keyId('global', 'k')

async function complete(store: KeyStore, text: string): Promise<void> {
  const { record } = await store.acquire(id, request)
  await store.settle(id, record.fence, { to: 'completed', result: Buffer.from(text), ttlMs: 60_000 })
}

test('a sealed result is unreadable in the store, and cannot be opened under another key', async () => {
  const inner = memoryKeys()
  const store = sealedKeys(inner, aes)
  await complete(store, 'secret')
  const kept = (await inner.read(id))?.result ?? new Uint8Array()
  expect(Buffer.from(kept).includes('secret')).toBe(false)
  expect(() => aes.open(kept, keyId('global', 'other'))).toThrow()
  expect(String((await store.acquire(id, request)).record.result)).toBe('secret')
})

test('cached replays do not call the store, and a different fingerprint is never served from the cache', async () => {
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

test('the cache stays within maxBytes', async () => {
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
