import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { DuePledge, KeyPledges, KeyStore } from '../store.ts'
import { type ContractCase, freshId, LONG_MS, SHORT_MS, waitOnStoreClock } from './contract-case.ts'

/*
 * Pledges for completers. Each case uses a unique name, so that no case receives another case's
 * pledges.
 */
export const pledgeCases: readonly ContractCase[] = [
  {
    name: 'pledges: a pledge is due under its name after its time and not before, byte for byte',
    needs: 'pledges',
    async run(store) {
      const pledges = pledgesOf(store)
      const [id, name, bytes] = [freshId(), randomUUID(), randomBytes(300)]
      await pledges.save(id, { name, bytes }, { dueMs: LONG_MS, ttlMs: LONG_MS })
      assert.deepEqual(await pledges.due(name, 10, 1), [])
      await pledges.save(id, { name, bytes }, { dueMs: SHORT_MS, ttlMs: LONG_MS })
      const [due] = await firstDue(pledges, name)
      assert.equal(due?.id, id)
      assert.deepEqual(Buffer.from(due?.bytes ?? []), bytes)
      assert.deepEqual(await pledges.due(randomUUID(), 10, 1), [])
    },
  },
  {
    name: 'pledges: concurrent callers get different pledges, and none twice within its lease',
    needs: 'pledges',
    async run(store) {
      const pledges = pledgesOf(store)
      const name = randomUUID()
      const ids = Array.from({ length: 20 }, freshId)
      await Promise.all(
        ids.map((id) => pledges.save(id, { name, bytes: Buffer.from(id) }, { dueMs: 0, ttlMs: LONG_MS })),
      )
      const asked = await Promise.all(Array.from({ length: 8 }, () => pledges.due(name, 5, LONG_MS)))
      for (const some of asked) assert.ok(some.length <= 5)
      const rest = await allDue(pledges, name, ids.length - asked.flat().length)
      assert.deepEqual([...asked.flat(), ...rest].map(({ id }) => id).sort(), ids.toSorted())
      assert.deepEqual(await pledges.due(name, 100, 1), [])
    },
  },
  {
    name: 'pledges: a pledge is due again after its lease, and saving replaces it',
    needs: 'pledges',
    async run(store) {
      const pledges = pledgesOf(store)
      const [id, name] = [freshId(), randomUUID()]
      await pledges.save(id, { name, bytes: Buffer.from('first') }, { dueMs: 0, ttlMs: LONG_MS })
      assert.equal((await firstDue(pledges, name, SHORT_MS)).length, 1)
      assert.equal((await firstDue(pledges, name, SHORT_MS)).length, 1)
      await pledges.save(id, { name, bytes: Buffer.from('second') }, { dueMs: 0, ttlMs: LONG_MS })
      const [due] = await firstDue(pledges, name)
      assert.equal(Buffer.from(due?.bytes ?? []).toString(), 'second')
    },
  },
  {
    name: 'pledges: a dropped or expired pledge is no longer due',
    needs: 'pledges',
    async run(store) {
      const pledges = pledgesOf(store)
      const [dropped, expired, name] = [freshId(), freshId(), randomUUID()]
      const bytes = Buffer.from('x')
      await pledges.save(dropped, { name, bytes }, { dueMs: 0, ttlMs: LONG_MS })
      await pledges.save(expired, { name, bytes }, { dueMs: SHORT_MS, ttlMs: SHORT_MS })
      await pledges.drop(dropped, name)
      await pledges.drop(freshId(), name)
      await waitOnStoreClock(store, SHORT_MS * 2)
      assert.deepEqual(await pledges.due(name, 10, 1), [])
    },
  },
]

function pledgesOf({ pledges }: KeyStore): KeyPledges {
  assert.ok(pledges, 'the store has pledges')
  return pledges
}

async function firstDue(pledges: KeyPledges, name: string, leaseMs = 1): Promise<readonly DuePledge[]> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const due = await pledges.due(name, 10, leaseMs)
    if (due.length > 0) return due
    await delay(20)
  }
  throw new assert.AssertionError({ message: 'nothing is due after 500 attempts' })
}

/** Collects until `count` pledges are found, because concurrent callers skip each other's rows. */
async function allDue(pledges: KeyPledges, name: string, count: number): Promise<readonly DuePledge[]> {
  const found: DuePledge[] = []
  while (found.length < count) found.push(...(await firstDue(pledges, name, LONG_MS)))
  return found
}
