import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { addMissingJobs, type Replay, replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { markBodiesSwept, sweepBodies, sweepKeys } from '../../../src/ledger/receipts/retention.ts'
import { pruneReceipts } from '../../../src/upkeep/prune-receipts.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

const SHARDS = 16

function ledgerOf(db: TestDatabase): LedgerTables {
  return { pool: db.pool, shards: SHARDS }
}

const BODIES = 'select count(*) from hookonce.receipt where body is not null'
const RECEIPTS = 'select count(*) from hookonce.receipt'

test('a body past its retention is swept; its key and hash stay, and still recognise a repeat', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  await hooks.start()
  await deliver(hooks, { id: 'evt_old', type: 'a' })
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  await db.rows(`update hookonce.receipt set received_at = now() - interval '31 days'`)

  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 1, receipts: 0 })

  expect(
    await db.rows('select event_key, body, headers, length(body_sha256) as hash from hookonce.receipt'),
  ).toEqual([{ event_key: 'evt_old', body: null, headers: null, hash: 32 }])
  await deliver(hooks, { id: 'evt_old', type: 'a' })
  await until('the repeat is counted', () => db.number('select count(*) from hookonce.duplicate'))
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: 1, mismatches: 0 },
  ])
  expect(await db.number('select count(*) from hookonce.job')).toBe(1)
})

test('a key past its retention is deleted with its jobs, attempts and duplicates, and nothing else', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 2, { ageDays: 91, state: 'failed' })
  await seedJobs(db, 3, { ageDays: 89, state: 'failed' })
  await db.rows(`insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome)
    select shard, receipt_id, subscriber, 1, 1, now(), 'failed' from hookonce.job`)
  await db.rows(
    `insert into hookonce.duplicate (shard, receipt_id, count) select shard, receipt_id, 1 from hookonce.job`,
  )

  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 5, receipts: 2 })

  for (const table of ['receipt', 'job', 'attempt', 'duplicate'])
    expect(await db.number(`select count(*) from hookonce.${table}`), table).toBe(3)
})

test('an event whose key has expired may come again', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  await hooks.start()
  const processed = `select count(*) from hookonce.job where state = 'processed'`
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it is processed', () => db.number(processed))
  await db.rows(`update hookonce.receipt set received_at = now() - interval '91 days'`)
  await pruneReceipts(ledgerOf(db))
  expect(await db.number(RECEIPTS)).toBe(0)

  expect(await deliver(hooks, { id: 'evt_1', type: 'a' })).toBe(id)
  await until('it is processed again', () => db.number(processed))
})

test.each(['received', 'processing', 'retrying', 'attention'])(
  'a receipt with a job that is %s keeps its body and its key, whatever its age',
  async (state) => {
    const db = await freshDatabase()
    await seedJobs(db, 1, { ageDays: 400 })
    await db.rows('update hookonce.job set state = $1::hookonce.job_state', [state])

    expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 0, receipts: 0 })
    expect(await db.number(BODIES)).toBe(1)
  },
)

test('a receipt that was held back by its job is swept later, when the job is done', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1, { ageDays: 40, shard: 0 })
  await seedJobs(db, 20, { ageDays: 35, shard: 0, state: 'processed' })
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 20, receipts: 0 })
  await seedJobs(db, 3, { ageDays: 32, shard: 0, state: 'processed' })
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 3, receipts: 0 })

  const worker = await seedWorker(db)
  const [job] = await claimJobs(db.pool, {
    shard: 0,
    worker,
    slots: new Map([[subscriber, 1]]),
  })
  if (!job) throw new Error('the held job could not be claimed')
  await settleJobs(db.pool, [settlement(job, 'processed')])

  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 1, receipts: 0 })
  expect(await db.number(BODIES)).toBe(0)
})

test('a sweep takes no more than its batch, the oldest first', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 10, { ageDays: 100, shard: 3, state: 'processed' })
  const oldest = await db.rows<{ id: string }>('select id from hookonce.receipt order by received_at limit 4')

  expect(await sweepBodies(db.pool, 3, 4)).toBe(4)
  expect(await db.rows('select id from hookonce.receipt where body is null order by received_at')).toEqual(
    oldest,
  )
  await markBodiesSwept(db.pool, 3)
  expect(await sweepBodies(db.pool, 3, 4)).toBe(4)
  expect(await sweepBodies(db.pool, 3, 4)).toBe(2)
  expect(await sweepKeys(db.pool, 3, 4)).toBe(4)
  expect(await db.number(RECEIPTS)).toBe(6)
})

test('more than one batch is swept in one prune', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1_200, { ageDays: 100, shard: 3, state: 'processed' })

  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 1_200, receipts: 1_200 })
  expect(await db.number(RECEIPTS)).toBe(0)
  expect(await db.number('select count(*) from hookonce.job')).toBe(0)
})

test('prunes at the same time share the work and leave nothing behind', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 600, { ageDays: 100, state: 'processed' })
  await seedJobs(db, 50, { ageDays: 10, state: 'processed' })

  const pruned = await Promise.all([1, 2, 3].map(() => pruneReceipts(ledgerOf(db))))
  // While one sweep had rows locked for their bodies, another skipped their keys: the next round
  // takes them.
  pruned.push(await pruneReceipts(ledgerOf(db)))

  expect(pruned.reduce((sum, { bodies }) => sum + bodies, 0)).toBeLessThanOrEqual(600)
  expect(pruned.reduce((sum, { receipts }) => sum + receipts, 0)).toBe(600)
  expect(await db.number(RECEIPTS)).toBe(50)
  expect(await db.number(BODIES)).toBe(50)
})

/* A replay of a receipt whose key is due for deletion, at the same time as a sweep. */
describe('a sweep and a replay of the same receipt', () => {
  const STATES = 'select state::text from hookonce.job'
  // Bodies are kept for longer than keys here. Otherwise there would be nothing to replay.
  async function expiredJob(): Promise<{ db: TestDatabase; replay: Replay; later: number }> {
    const db = await freshDatabase()
    const later = await seedJobs(db, 0, { subscriber: 'later' })
    await seedJobs(db, 1, { ageDays: 100, shard: 0, state: 'failed' })
    await db.rows('update hookonce.source set body_seconds = 400 * 86400')
    const [{ id } = { id: '' }] = await db.rows<{ id: string }>('select id from hookonce.receipt')
    return { db, later, replay: { shard: 0, receiptIds: [id], subscribers: undefined, states: ['failed'] } }
  }

  test('a replay in progress keeps the receipt', async () => {
    const { db, replay } = await expiredJob()
    const client = await db.pool.connect()
    await client.query('begin')
    expect(await replayJobs(client, replay)).toBe(1)
    const sweeping = sweepKeys(db.pool, 0, 10)
    await until('the sweep has passed it over, or waits for it', async () => {
      const waiting = `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await Promise.race([sweeping, undefined])) !== undefined || (await db.number(waiting))
    })
    await client.query('commit')
    client.release()

    expect(await sweeping).toBe(0)
    expect(await db.rows(STATES)).toEqual([{ state: 'received' }])
  })

  test('a replay that was committed after the sweep has read keeps the receipt', async () => {
    for (const sweep of [sweepKeys, sweepBodies]) {
      const { db } = await expiredJob()
      await db.rows('update hookonce.source set body_seconds = 86400')
      const meddling = between(db, 'for update skip locked', () =>
        db.rows(`update hookonce.job set state = 'received', finished_at = null`),
      )
      expect(await sweep(meddling, 0, 10)).toBe(0)
      expect(await db.number(BODIES)).toBe(1)
      expect(await db.rows(STATES)).toEqual([{ state: 'received' }])
    }
  })

  test('a replay that comes after the sweep finds nothing, and leaves no job without a receipt', async () => {
    const { db, replay, later } = await expiredJob()
    const [receiptId = ''] = replay.receiptIds
    const replays: Promise<number>[] = []
    const meddling = between(db, 'for update skip locked', async () => {
      replays.push(replayJobs(db.pool, replay))
      replays.push(addMissingJobs(db.pool, { shard: 0, receiptId, subscribers: [later] }))
      const waiting = `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await until('both wait for the sweep', async () => (await db.number(waiting)) === 2)
    })
    expect(await sweepKeys(meddling, 0, 10)).toBe(1)
    expect(await Promise.all(replays)).toEqual([0, 0])
    expect(await db.number('select count(*) from hookonce.job')).toBe(0)
  })
})

/**
 * A pool that runs a callback after the first statement that contains this text, before the next
 * statement.
 */
function between(db: TestDatabase, words: string, meddle: () => Promise<unknown>): pg.Pool {
  return new Proxy(db.pool, {
    get(pool, property) {
      if (property !== 'connect') return Reflect.get(pool, property)
      return async () => {
        const client = await pool.connect()
        const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
        return Object.assign(Object.create(client), {
          query: async (asked: string | { text: string }) => {
            const result = await query(asked)
            if (typeof asked !== 'string' && asked.text.includes(words)) await meddle()
            return result
          },
        })
      }
    },
  })
}

test('an empty ledger, even without a source, is swept without harm', async () => {
  const db = await freshDatabase()
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 0, receipts: 0 })
  expect(await db.number('select count(*) from hookonce.sweep')).toBe(0)
  await seedJobs(db, 1, { ageDays: 31, state: 'processed' })
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 1, receipts: 0 })
})

test('if sources declare different retentions, the longest protects all', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { ageDays: 40, state: 'processed' })
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', 'long', 400 * 86400, 50 * 86400)`,
  )
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 0, receipts: 0 })
  await db.rows(`update hookonce.source set body_seconds = 86400`)
  expect(await pruneReceipts(ledgerOf(db))).toEqual({ bodies: 1, receipts: 0 })
})
