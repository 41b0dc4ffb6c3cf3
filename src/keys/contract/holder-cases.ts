import assert from 'node:assert/strict'
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
 * What the holder of a lock may change, and what no other run may change.
 */
const lock = { lockMs: LONG_MS, ttlMs: LONG_MS }

export const holderCases: readonly ContractCase[] = [
  {
    name: 'extend: an extended lock is not taken over, and its record does not expire before it',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      assert.equal(await store.extend(id, record.fence, { lockMs: 3 * LONG_MS, ttlMs: 1 }), true)
      await waitOnStoreClock(store, SHORT_MS * 2)
      assert.equal((await store.acquire(id, request())).outcome, 'locked')
      const { lockUntil, expiresAt } = await currentRecord(store, id)
      assert.ok(lockUntil > record.lockUntil)
      assert.ok(expiresAt > lockUntil)
    },
  },
  {
    name: 'extend: an expired lock is revived if no other run has taken it over',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      assert.equal(await store.extend(id, record.fence, lock), true)
      assert.equal((await store.acquire(id, request())).outcome, 'locked')
    },
  },
  {
    name: 'extend: returns false for a stale fence, a settled record and an absent record',
    async run(store) {
      assert.equal(await store.extend(freshId(), 1, lock), false)
      const id = freshId()
      const first = await acquired(store, id, { lockMs: SHORT_MS })
      const second = await acquireUntilNot('locked', store, id)
      const before = await currentRecord(store, id)
      assert.equal(await store.extend(id, first.record.fence, lock), false)
      assert.deepEqual(await store.read(id), before)
      await store.settle(id, second.record.fence, completion('done'))
      assert.equal(await store.extend(id, second.record.fence, lock), false)
      assert.equal((await currentRecord(store, id)).state, 'completed')
    },
  },
  {
    name: 'settle: a holder whose lock was taken over changes nothing',
    async run(store) {
      for (const settlement of [completion('zombie'), released, unknown]) {
        const id = freshId()
        const first = await acquired(store, id, { lockMs: SHORT_MS })
        const second = await acquireUntilNot('locked', store, id)
        const locked = await currentRecord(store, id)
        assert.equal(await store.settle(id, first.record.fence, settlement), false)
        assert.deepEqual(await store.read(id), locked)
        assert.equal(await store.settle(id, second.record.fence, completion('successor')), true)
        const done = await currentRecord(store, id)
        assert.equal(await store.settle(id, first.record.fence, settlement), false)
        assert.deepEqual(await store.read(id), done)
        assert.equal(Buffer.from(done.result ?? []).toString(), 'successor')
      }
    },
  },
  {
    name: 'settle: of a late settle and a concurrent takeover, exactly one succeeds',
    races: true,
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      const [settled, second] = await Promise.all([
        store.settle(id, record.fence, completion('late')),
        store.acquire(id, request()),
      ])
      assert.equal(settled, second.outcome === 'completed')
      assert.equal((await currentRecord(store, id)).state, settled ? 'completed' : 'locked')
    },
  },
  {
    name: 'settle: a late holder still settles if no other run took over',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      assert.equal(await store.settle(id, record.fence, completion('late')), true)
      assert.equal((await store.acquire(id, request())).outcome, 'completed')
    },
  },
  {
    name: 'settle: an unknown record is settled with its fence, by the late holder or by an operator',
    async run(store) {
      for (const settlement of [completion('it did happen'), released]) {
        const id = freshId()
        const { record } = await acquired(store, id)
        assert.equal(await store.settle(id, record.fence, unknown), true)
        assert.equal(await store.settle(id, record.fence, settlement), true)
        assert.equal((await currentRecord(store, id)).state, settlement.to)
      }
    },
  },
  {
    name: 'settle: the first settlement stands',
    async run(store) {
      for (const settlement of [completion('first'), released]) {
        const id = freshId()
        const { record } = await acquired(store, id)
        assert.equal(await store.settle(id, record.fence, settlement), true)
        const before = await currentRecord(store, id)
        for (const later of [completion('second'), released, unknown])
          assert.equal(await store.settle(id, record.fence, later), false)
        assert.deepEqual(await store.read(id), before)
      }
    },
  },
  {
    name: 'settle: returns false for an absent or expired record',
    async run(store) {
      assert.equal(await store.settle(freshId(), 1, completion('nothing')), false)
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS, ttlMs: 1 })
      await waitUntilExpired(store, id)
      assert.equal(await store.settle(id, record.fence, completion('too late')), false)
      assert.equal(await store.read(id), undefined)
    },
  },
  {
    name: 'settle: the ttl of a record counts from its completion',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { ttlMs: 5 * LONG_MS })
      await store.settle(id, record.fence, { to: 'completed', result: Buffer.from('x'), ttlMs: 1_000 })
      const { expiresAt } = await currentRecord(store, id)
      assert.ok(expiresAt >= record.lockedAt + 1_000 && expiresAt < record.lockedAt + LONG_MS)
    },
  },
  {
    name: 'settle: a record that runs again does not keep its old result',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id)
      await store.settle(id, record.fence, { to: 'completed', result: Buffer.from('old'), ttlMs: SHORT_MS })
      await waitUntilExpired(store, id)
      await acquired(store, id)
      assert.equal((await currentRecord(store, id)).result, undefined)
    },
  },
  {
    name: 'different keys do not affect each other',
    async run(store) {
      const [one, two] = [freshId(), freshId()]
      const first = await acquired(store, one)
      await acquired(store, two)
      assert.equal(await store.settle(one, first.record.fence, completion('one')), true)
      assert.equal((await currentRecord(store, two)).state, 'locked')
    },
  },
  {
    name: 'sweep: deletes expired records and keeps the others',
    needs: 'sweep',
    async run(store) {
      const [old, live] = [freshId(), freshId()]
      const { record } = await acquired(store, old)
      await acquired(store, live)
      await store.settle(old, record.fence, { to: 'released', ttlMs: SHORT_MS })
      await waitUntilExpired(store, old)
      assert.ok(store.sweep, 'the store can sweep')
      while ((await store.sweep(1_000)) > 0);
      assert.equal((await currentRecord(store, live)).state, 'locked')
      assert.ok((await acquired(store, old)).record.fence > record.fence)
    },
  },
  {
    name: 'steps: results are saved under the fence of the holder and loaded by the next run',
    needs: 'steps',
    async run(store) {
      const id = freshId()
      const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      const first = await acquired(store, id)
      assert.equal(await store.steps?.save(id, first.record.fence, 'charge', bytes), true)
      assert.equal(await store.steps?.save(id, first.record.fence - 1, 'mail', bytes), false)
      await store.settle(id, first.record.fence, released)
      assert.equal(await store.steps?.save(id, first.record.fence, 'mail', bytes), false)
      const second = await acquired(store, id)
      const kept = await store.steps?.load(id)
      assert.deepEqual([...(kept?.keys() ?? [])], ['charge'])
      assert.ok(Buffer.from(kept?.get('charge') ?? []).equals(bytes))
      await store.settle(id, second.record.fence, completion('done'))
      assert.equal((await store.steps?.load(id))?.size, 0)
    },
  },
  {
    name: 'steps: a key that is new again after expiry has none',
    needs: 'steps',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id)
      await store.steps?.save(id, record.fence, 'charge', Buffer.from('1'))
      await store.settle(id, record.fence, { to: 'released', ttlMs: SHORT_MS })
      await waitUntilExpired(store, id)
      await acquired(store, id)
      assert.equal((await store.steps?.load(id))?.size, 0)
    },
  },
]
