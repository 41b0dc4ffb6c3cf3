import { expect, test } from 'vitest'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { planRetryNow, retryNow } from '../../../src/operate/retry-now.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'

/* A plan to run waiting jobs now affects only jobs that still wait. */

const reason = { by: 'cli:ann', why: 'it is mended' }

function ledgerOf({ pool }: TestDatabase): LedgerTables {
  return { pool, shards: 16 }
}

/** Jobs of one shard whose next attempt is due in an hour. Returns their subscriber. */
async function retrying(db: TestDatabase, count: number): Promise<number> {
  const subscriber = await seedJobs(db, count, { shard: 1 })
  await db.rows(`update hookonce.job set state = 'retrying', attempt = 2, due_at = now() + interval '1 hour'`)
  return subscriber
}

async function due(db: TestDatabase): Promise<number> {
  return db.number('select count(*) from hookonce.job where due_at <= now()')
}

test.each([
  { what: 'failed', change: `state = 'failed', finished_at = now()` },
  { what: 'was processed', change: `state = 'processed', finished_at = now()` },
  { what: 'was replayed', change: `state = 'received', due_at = now() + interval '1 minute'` },
  { what: 'waits for an earlier event with its order key', change: `due_at = 'infinity'` },
])('a job that $what since the plan does not change', async ({ change }) => {
  const db = await freshDatabase()
  await retrying(db, 1)
  const plan = await planRetryNow(ledgerOf(db), { limit: 10 })
  expect(plan.jobs).toHaveLength(1)
  await db.rows(`update hookonce.job set ${change}`)
  const before = await db.rows('select * from hookonce.job')
  expect(await retryNow(ledgerOf(db), plan, reason)).toBe(0)
  expect(await db.rows('select * from hookonce.job')).toEqual(before)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)
  expect((await planRetryNow(ledgerOf(db), { limit: 10 })).jobs).toEqual([])
})

test('a job that a worker claims at this moment is skipped, without waiting', async () => {
  const db = await freshDatabase()
  const subscriber = await retrying(db, 2)
  const plan = await planRetryNow(ledgerOf(db), { limit: 10 })
  const claiming = await db.pool.connect()
  await claiming.query('begin')
  await claiming.query(`update hookonce.job set due_at = now() where receipt_id = $1`, [
    plan.jobs[0]?.receiptId,
  ])
  const slots = new Map([[subscriber, 1]])
  const claimed = await claimJobs(claiming, { shard: 1, worker: await seedWorker(db), slots })
  expect(claimed).toHaveLength(1)
  expect(await retryNow(ledgerOf(db), plan, reason)).toBe(1)
  await claiming.query('commit')
  claiming.release()
  const states = await db.rows('select state::text as state from hookonce.job order by 1')
  expect(states).toEqual([{ state: 'processing' }, { state: 'retrying' }])
})

test('the limit and the filter apply over all shards, and each tenant has its audit entry', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 40, { source: 'shop' })
  for (const table of ['source', 'subscriber', 'receipt'])
    await db.rows(`update hookonce.${table} set tenant = 'acme'`)
  await seedJobs(db, 10, { source: 'shop' })
  await db.rows(`update hookonce.job set state = 'retrying', due_at = now() + interval '1 hour'`)
  const ledger = ledgerOf(db)
  expect((await planRetryNow(ledger, { limit: 1_000 })).jobs).toHaveLength(50)
  expect((await planRetryNow(ledger, { tenant: 'acme', limit: 7 })).jobs).toHaveLength(7)
  expect((await planRetryNow(ledger, { subscriber: 'other', limit: 7 })).jobs).toEqual([])
  const all = await planRetryNow(ledger, { source: 'shop', limit: 1_000 })
  expect(await retryNow(ledger, all, reason)).toBe(50)
  expect(await due(db)).toBe(50)
  expect(
    await db.rows('select tenant, actor, action, subject, detail from hookonce.audit order by tenant'),
  ).toEqual([
    { tenant: 'acme', actor: 'cli:ann', action: 'retry-now', subject: 'retrying jobs', detail: { jobs: 40 } },
    {
      tenant: 'default',
      actor: 'cli:ann',
      action: 'retry-now',
      subject: 'retrying jobs',
      detail: { jobs: 10 },
    },
  ])
})
