import { expect, test } from 'vitest'
import { seedLedger } from '../../scripts/seeding/seed.mjs'
import { effectDownstreamKey } from '../../src/effects/downstream-key.ts'
import { messageId } from '../../src/effects/message-id.ts'
import { receiptIds, scopedId, shardOf } from '../../src/model/receipt-id.ts'
import { freshDatabase, type TestDatabase } from '../support/database.ts'

/* The SQL that seeds a ledger computes the same ids as the engine, and depends only on the seed. */

const NOW = new Date('2026-11-17T12:00:00Z')

async function seeded(seed: number): Promise<TestDatabase> {
  const db = await freshDatabase()
  await seedLedger(db.pool, { receipts: 600, seed, now: NOW })
  return db
}

test('ids in a seeded ledger equal those of the engine', async () => {
  const db = await seeded(1)
  const receipts = await db.rows<{ id: string; shard: number; source: string; key: string }>(
    'select id, shard, source, event_key as key from hookonce.receipt',
  )
  expect(receipts).toHaveLength(600)
  for (const { id, shard, source, key } of receipts) {
    expect(id).toBe(receiptIds('default', source)(key))
    expect(shard).toBe(shardOf(id, 16))
  }
  const effects = await db.rows<{ id: string; shard: number; key: string; downstream: string }>(
    'select id, shard, key, downstream_key as downstream from hookonce.effect',
  )
  expect(effects.length).toBeGreaterThan(10)
  for (const { id, shard, key, downstream } of effects) {
    expect(id).toBe(scopedId('default', key))
    expect(shard).toBe(shardOf(id, 16))
    expect(downstream).toBe(effectDownstreamKey({ tenant: 'default', key, epoch: 1 }))
  }
  const messages = await db.rows<{ id: string; receiptId: string; subscriber: string }>(
    `select o.id, o.receipt_id as "receiptId", s.name as subscriber
     from hookonce.outbox o join hookonce.subscriber s on s.id = o.subscriber`,
  )
  expect(messages.length).toBeGreaterThan(10)
  for (const { id, receiptId, subscriber } of messages)
    expect(id).toBe(messageId({ receiptId, subscriber, epoch: 0 }, '(write)', 0))
})

test('a seeded ledger has every state, and work for a person', async () => {
  const db = await seeded(1)
  const states = await db.rows('select distinct state::text as state from hookonce.job order by 1')
  const names = ['attention', 'failed', 'processed', 'processing', 'received', 'retrying']
  expect(states).toEqual(names.map((state) => ({ state })))
  const waiting = await db.number(
    `select count(*) from hookonce.attention a
     join hookonce.effect e on e.shard = a.effect_shard and e.id = a.effect_id and e.state = 'unknown'
     join hookonce.job j on j.shard = a.shard and j.receipt_id = a.receipt_id and j.subscriber = a.subscriber
       and j.state = 'attention'`,
  )
  expect(waiting).toBe(await db.number('select count(*) from hookonce.attention'))
  expect(waiting).toBeGreaterThan(0)
})

test('the same seed makes the same ledger, another seed does not', async () => {
  const [one, same, other] = [await seeded(1), await seeded(1), await seeded(2)]
  const digest = async (db: TestDatabase): Promise<unknown> =>
    (
      await db.rows(`select
        (select md5(string_agg(r::text, ' ' order by id)) from hookonce.receipt r) as receipts,
        (select md5(string_agg(j::text, ' ' order by receipt_id, subscriber)) from hookonce.job j) as jobs,
        (select md5(string_agg(a::text, ' ' order by receipt_id, subscriber, fence)) from hookonce.attempt a) as attempts`)
    )[0]
  expect(await digest(same)).toEqual(await digest(one))
  expect(await digest(other)).not.toEqual(await digest(one))
})
