import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Acquired, KeyId, KeyStore } from '../store.ts'
import {
  acquired,
  acquireUntilNot,
  type ContractCase,
  completion,
  currentRecord,
  freshId,
  LONG_MS,
  released,
  request,
  SHORT_MS,
  unknown,
  waitOnStoreClock,
  waitUntilExpired,
} from './contract-case.ts'

/*
 * Which caller acquires a key, and what the other callers receive.
 */
const RACERS = 20
/** By how much the clocks of a store's clients may differ, if the store has no clock of its own. */
const CLOCK_MS = 1_000

async function completed(store: KeyStore, id: KeyId, result: Uint8Array): Promise<Acquired> {
  const first = await acquired(store, id)
  assert.equal(await store.settle(id, first.record.fence, { to: 'completed', result, ttlMs: LONG_MS }), true)
  return first
}

export const acquireCases: readonly ContractCase[] = [
  {
    name: 'acquire: a new key is locked, with a fence, for the requested time',
    async run(store) {
      const id = freshId()
      assert.equal(await store.read(id), undefined)
      const asked = request({ lockMs: 30_000, ttlMs: 10_000 })
      const { outcome, record, now } = await store.acquire(id, asked)
      assert.equal(outcome, 'acquired')
      assert.deepEqual(record, {
        state: 'locked',
        fence: record.fence,
        fingerprint: asked.fingerprint,
        holder: asked.holder,
        after: 'nothing',
        lockedAt: record.lockedAt,
        lockUntil: record.lockedAt + 30_000,
        expiresAt: record.lockedAt + 40_000,
        result: undefined,
      })
      assert.ok(record.fence > 0)
      // Milliseconds since 1970, neither seconds nor fractions.
      assert.ok(Math.abs(record.lockedAt - now) < 5_000, `${record.lockedAt} is about ${now}`)
      assert.ok(now > Date.UTC(2020) && now < Date.UTC(2200), `${now} is in milliseconds since 1970`)
      assert.deepEqual(await store.read(id), record)
    },
  },
  {
    name: 'acquire: exactly one of many concurrent callers gets the key, and the others see its lock',
    async run(store) {
      const id = freshId()
      const answers = await Promise.all(Array.from({ length: RACERS }, () => store.acquire(id, request())))
      const winners = answers.filter(({ outcome }) => outcome === 'acquired')
      assert.equal(winners.length, 1)
      for (const { outcome, record } of answers) {
        if (outcome !== 'acquired') assert.equal(outcome, 'locked')
        assert.equal(record.fence, winners[0]?.record.fence)
      }
    },
  },
  {
    name: 'acquire: concurrent calls for different keys each get the times that they requested',
    async run(store) {
      const calls = Array.from({ length: RACERS }, (_, n) => ({
        id: freshId(),
        asked: request({ lockMs: LONG_MS + n, ttlMs: 2 * LONG_MS + (n % 3) }),
        ttlMs: 3 * LONG_MS + (n % 5),
      }))
      const answers = await Promise.all(calls.map(({ id, asked }) => store.acquire(id, asked)))
      await Promise.all(
        calls.map(async ({ id, asked, ttlMs }, n) => {
          const answer = answers[n]
          assert.equal(answer?.outcome, 'acquired')
          const { record } = answer
          assert.equal(record.lockUntil - record.lockedAt, asked.lockMs)
          assert.equal(record.expiresAt - record.lockUntil, asked.ttlMs)
          assert.deepEqual(await store.read(id), record)
          const completed = { to: 'completed', result: Buffer.from(`${n}`), ttlMs } as const
          assert.equal(await store.settle(id, record.fence, completed), true)
        }),
      )
      const clock = await acquired(store, freshId())
      for (const [n, { id, ttlMs }] of calls.entries()) {
        const { expiresAt, lockedAt, result } = await currentRecord(store, id)
        assert.equal(Buffer.from(result ?? []).toString(), `${n}`)
        assert.ok(expiresAt >= lockedAt + ttlMs && expiresAt <= clock.now + ttlMs + CLOCK_MS)
      }
    },
  },
  {
    name: 'acquire: a live lock does not change',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id)
      for (const onCrash of ['takeover', 'unknown'] as const) {
        const second = await store.acquire(id, request({ onCrash }))
        assert.equal(second.outcome, 'locked')
        assert.deepEqual(second.record, record)
      }
      assert.deepEqual(await store.read(id), record)
    },
  },
  {
    name: 'acquire: a retry by the same holder, after a lost response, gets the same lock',
    async run(store) {
      const id = freshId()
      const asked = request()
      const first = await store.acquire(id, asked)
      const second = await store.acquire(id, asked)
      assert.equal(second.outcome, 'acquired')
      assert.deepEqual(second.record, first.record)
    },
  },
  {
    name: 'acquire: a different fingerprint is a mismatch in every state, and changes nothing',
    async run(store) {
      const other = request({ fingerprint: '1:other' })
      for (const settlement of [undefined, completion('secret'), released, unknown]) {
        const id = freshId()
        const { record } = await acquired(store, id)
        if (settlement) assert.equal(await store.settle(id, record.fence, settlement), true)
        const before = await currentRecord(store, id)
        assert.equal((await store.acquire(id, other)).outcome, 'mismatch')
        assert.deepEqual(await store.read(id), before)
      }
    },
  },
  {
    name: 'acquire: a mismatch takes precedence over an expired lock',
    async run(store) {
      const id = freshId()
      await acquired(store, id, { lockMs: SHORT_MS })
      await acquireUntilNot('locked', store, id, { onCrash: 'unknown' })
      assert.equal((await store.acquire(id, request({ fingerprint: '1:other' }))).outcome, 'mismatch')
    },
  },
  {
    name: 'acquire: a released key runs again, with a higher fence',
    async run(store) {
      const id = freshId()
      const first = await acquired(store, id)
      assert.equal(await store.settle(id, first.record.fence, released), true)
      const second = await acquired(store, id)
      assert.equal(second.record.after, 'release')
      assert.ok(second.record.fence > first.record.fence)
    },
  },
  {
    name: 'acquire: a completed result is returned byte for byte',
    async run(store) {
      const bodies = [
        new Uint8Array(),
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
        randomBytes(256 * 1024),
      ]
      for (const body of bodies) {
        const id = freshId()
        await completed(store, id, body)
        const { outcome, record } = await store.acquire(id, request())
        assert.equal(outcome, 'completed')
        assert.ok(record.result && Buffer.from(record.result).equals(body), `${body.length} bytes come back`)
      }
    },
  },
  {
    name: 'acquire: a key in state unknown is not acquired',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id)
      assert.equal(await store.settle(id, record.fence, unknown), true)
      assert.equal((await store.acquire(id, request())).outcome, 'unknown')
    },
  },
  {
    name: 'acquire: an expired lock is taken over with a higher fence, long before the record expires',
    async run(store) {
      const id = freshId()
      const first = await acquired(store, id, { lockMs: SHORT_MS })
      const second = await acquireUntilNot('locked', store, id)
      assert.equal(second.outcome, 'acquired')
      assert.equal(second.record.after, 'crash')
      assert.ok(second.record.fence > first.record.fence)
    },
  },
  {
    name: 'acquire: exactly one of many concurrent callers takes over an expired lock',
    races: true,
    async run(store) {
      const id = freshId()
      await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      const answers = await Promise.all(Array.from({ length: RACERS }, () => store.acquire(id, request())))
      assert.equal(answers.filter(({ outcome }) => outcome === 'acquired').length, 1)
      assert.equal(answers.filter(({ outcome }) => outcome === 'locked').length, RACERS - 1)
    },
  },
  {
    name: 'acquire: exactly one of many concurrent callers gets a released key',
    races: true,
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id)
      assert.equal(await store.settle(id, record.fence, released), true)
      const answers = await Promise.all(Array.from({ length: RACERS }, () => store.acquire(id, request())))
      assert.equal(answers.filter(({ outcome }) => outcome === 'acquired').length, 1)
    },
  },
  {
    name: 'acquire: an expired lock becomes unknown if it must not be taken over',
    async run(store) {
      const id = freshId()
      const first = await acquired(store, id, { lockMs: SHORT_MS })
      const second = await acquireUntilNot('locked', store, id, { onCrash: 'unknown' })
      assert.equal(second.outcome, 'unknown')
      assert.equal((await currentRecord(store, id)).state, 'unknown')
      assert.equal((await currentRecord(store, id)).fence, first.record.fence)
      assert.equal((await store.acquire(id, request({ onCrash: 'takeover' }))).outcome, 'unknown')
    },
  },
  {
    name: 'acquire: an expired record counts as absent, swept or not, and its fence is not reused',
    async run(store) {
      for (const to of ['completed', 'released', 'unknown'] as const) {
        const id = freshId()
        const { record } = await acquired(store, id)
        const settlement = { to, ttlMs: SHORT_MS, result: Buffer.from('old') }
        assert.equal(await store.settle(id, record.fence, settlement), true)
        await waitUntilExpired(store, id)
        const next = await acquired(store, id, { fingerprint: '1:other' })
        assert.equal(next.record.after, 'nothing')
        assert.ok(next.record.fence > record.fence)
      }
    },
  },
]
