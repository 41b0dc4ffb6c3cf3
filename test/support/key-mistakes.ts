import { describe, expect, onTestFinished, test } from 'vitest'
import { cachedKeys, type KeyStore, keyId } from '../../src/keys/index.ts'
import { keyedServer } from './idempotent-server.ts'
import { until } from './until.ts'

export interface StoreUnderTest {
  readonly name: string
  open(): KeyStore
}

const DAY_MS = 86_400_000
let keys = 0
const freshId = () => keyId('global', `mistake ${keys++}`)
const asking = (holder: string, lockMs = 60_000) =>
  ({ fingerprint: 'same', holder, lockMs, ttlMs: DAY_MS, onCrash: 'takeover' }) as const
const completion = (text: string) => ({ to: 'completed', result: Buffer.from(text), ttlMs: DAY_MS }) as const

/** Known mistakes of other libraries with idempotency keys, one test per mistake. */
export function describeMistakes(stores: readonly StoreUnderTest[]): void {
  describe.each(stores)('in $name', ({ open }) => {
    function opened(): KeyStore {
      const store = open()
      onTestFinished(() => store.close())
      return store
    }

    test('check-then-set that overwrites live records: of many at once one writes, then no other', async () => {
      const [store, id] = [opened(), freshId()]
      const ask50 = () =>
        Promise.all(Array.from({ length: 50 }, (_, n) => store.acquire(id, asking(`racer ${n} ${keys++}`))))
      const winners = (await ask50()).filter(({ outcome }) => outcome === 'acquired')
      expect(winners).toHaveLength(1)
      const locked = await store.read(id)
      expect(locked).toEqual(winners[0]?.record)
      await store.settle(id, locked?.fence ?? 0, completion('first'))
      const completed = await store.read(id)
      for (const { outcome } of await ask50()) expect(outcome).toBe('completed')
      expect(await store.read(id)).toEqual(completed)
    })

    test('completion without a fence: a zombie does not overwrite its successor, before or after it ended', async () => {
      const [store, id] = [opened(), freshId()]
      const zombie = await store.acquire(id, asking('zombie', 100))
      const successor = await until('the lock runs out', async () => {
        const { outcome, record } = await store.acquire(id, asking('successor'))
        return outcome === 'acquired' ? record : undefined
      })
      expect(await store.settle(id, zombie.record.fence, completion('zombie'))).toBe(false)
      expect(await store.settle(id, successor.fence, completion('successor'))).toBe(true)
      expect(await store.settle(id, zombie.record.fence, completion('zombie'))).toBe(false)
      expect(Buffer.from((await store.read(id))?.result ?? []).toString()).toBe('successor')
    })

    test('a lock that lives as long as the record: after a crash the key is free long before it expires', async () => {
      const [store, id] = [opened(), freshId()]
      const { record } = await store.acquire(id, asking('crashed', 100))
      expect(record.expiresAt - record.lockUntil).toBe(DAY_MS)
      const next = await until('the lock runs out', async () => {
        const acquired = await store.acquire(id, asking('next'))
        return acquired.outcome === 'acquired' ? acquired : undefined
      })
      expect(next.now).toBeLessThan(record.expiresAt)
      expect(next.record.after).toBe('crash')
    })

    test('epoch milliseconds against a field of 0 to 999: a lock is live in every part of every second', async () => {
      const [store, id] = [opened(), freshId()]
      const { record } = await store.acquire(id, asking('holder', 30_000))
      expect(record.lockUntil).toBe(record.lockedAt + 30_000)
      const tenths = new Set<number>()
      await until('every tenth of a second was seen', async () => {
        const { outcome, now } = await store.acquire(id, asking('other'))
        expect(outcome).toBe('locked')
        tenths.add(Math.floor((now % 1000) / 100))
        return tenths.size === 10
      })
    })

    test('a local cache that serves before it checks the payload: another body is refused', async () => {
      const app = await keyedServer((_request, response) => response.end('for the first body'), {
        store: cachedKeys(opened()),
      })
      const key = freshId()
      for (const replayed of [null, 'true', 'true'])
        expect((await app.post(key, '{"n":1}')).headers.get('idempotent-replayed')).toBe(replayed)
      const other = await app.post(key, '{"n":2}')
      expect(other.status).toBe(422)
      expect(await other.text()).not.toContain('for the first body')
      expect(app.runs()).toBe(1)
    })

    test('keys that are not scoped by tenant: one tenant never gets the reply of another', async () => {
      const app = await keyedServer(
        (request, response) => response.end(`for ${request.headers.authorization}`),
        { store: opened(), tenant: (request) => String(request.headers.authorization) },
      )
      const key = freshId()
      for (const who of ['alice', 'bob', 'alice']) {
        const reply = await app.post(key, '{}', { headers: { authorization: who } })
        expect(await reply.text()).toBe(`for ${who}`)
      }
      expect(app.runs()).toBe(2)
    })

    test('replies stored after they were sent: a client that has the reply can read it in the store', async () => {
      const store = opened()
      let settling: () => void = () => undefined
      let settle: () => void = () => undefined
      const [asked, allowed] = [
        new Promise<void>((resolve) => (settling = resolve)),
        new Promise<void>((resolve) => (settle = resolve)),
      ]
      const slow: KeyStore = {
        ...store,
        async settle(...args) {
          settling()
          await allowed
          return store.settle(...args)
        },
      }
      const app = await keyedServer((_request, response) => response.end('done'), { store: slow })
      const key = freshId()
      let replied = false
      const reply = app.post(key).then((response) => {
        replied = true
        return response
      })
      await asked
      // A later request has been answered meanwhile: this one was held on purpose.
      expect((await app.post(key)).status).toBe(409)
      expect(replied).toBe(false)
      settle()
      expect((await reply).status).toBe(200)
      expect((await store.read(keyId('global', key)))?.state).toBe('completed')
    })

    test('cookies stored and replayed to someone else: they are not even in the store', async () => {
      const store = opened()
      const app = await keyedServer(
        (_request, response) => response.setHeader('set-cookie', 'session=secret').end('done'),
        { store },
      )
      const key = freshId()
      expect((await app.post(key)).headers.get('set-cookie')).toBe('session=secret')
      const again = await app.post(key)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(again.headers.get('set-cookie')).toBeNull()
      const kept = await store.read(keyId('global', key))
      expect(Buffer.from(kept?.result ?? []).includes('secret')).toBe(false)
    })
  })
}
