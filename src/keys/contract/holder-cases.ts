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
    name: 'extend: a lock that is extended is not taken over, and its record does not expire under it',
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
    name: 'extend: a lock that ran out is revived where nobody has noticed',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      assert.equal(await store.extend(id, record.fence, lock), true)
      assert.equal((await store.acquire(id, request())).outcome, 'locked')
    },
  },
  {
    name: 'extend: a stale fence, a settled record and an absent one are refused',
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
    name: 'settle: of a late holder and who takes its lock over at the same moment, one counts',
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
    name: 'settle: a late holder whom nobody replaced still counts',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { lockMs: SHORT_MS })
      await waitOnStoreClock(store, SHORT_MS)
      assert.equal(await store.settle(id, record.fence, completion('late')), true)
      assert.equal((await store.acquire(id, request())).outcome, 'completed')
    },
  },
  {
    name: 'settle: what was unknown is settled by who holds its fence: the late holder, or a person',
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
    name: 'settle: nothing is settled that is absent, or has expired',
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
    name: 'settle: a record lives for its ttl from the completion on',
    async run(store) {
      const id = freshId()
      const { record } = await acquired(store, id, { ttlMs: 5 * LONG_MS })
      await store.settle(id, record.fence, { to: 'completed', result: Buffer.from('x'), ttlMs: 1_000 })
      const { expiresAt } = await currentRecord(store, id)
      assert.ok(expiresAt >= record.lockedAt + 1_000 && expiresAt < record.lockedAt + LONG_MS)
    },
  },
  {
    name: 'settle: a record that runs again holds nothing of what it held before',
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
    name: 'keys do not meet',
    async run(store) {
      const [one, two] = [freshId(), freshId()]
      const first = await acquired(store, one)
      await acquired(store, two)
      assert.equal(await store.settle(one, first.record.fence, completion('one')), true)
      assert.equal((await currentRecord(store, two)).state, 'locked')
    },
  },
  {
    name: 'sweep: expired records go, others stay',
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
    name: 'steps: results are kept for the next run, under the fence of the holder',
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
    name: 'steps: a new life of the key begins without them',
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
