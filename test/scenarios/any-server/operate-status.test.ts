import { expect, test } from 'vitest'
import { Permanent } from '../../../src/index.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { listAudit } from '../../../src/operate/audit.ts'
import { listFailures } from '../../../src/operate/failures.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { listSources } from '../../../src/operate/sources.ts'
import { readStatus } from '../../../src/operate/status.ts'
import { settleWaiting } from '../../../src/operate/subscribers.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { commitMessages, newMessage } from '../../support/outbox.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'

/* The functions of operate/ that summarise a ledger, its failures, and one event. */

function ledgerOf({ pool }: TestDatabase): LedgerTables {
  return { pool, shards: 16 }
}

test('the status of an empty ledger names its schema, and nothing else', async () => {
  const db = await freshDatabase()
  const newest = await db.number('select max(id) from hookonce.migration')
  expect(await readStatus(ledgerOf(db))).toEqual({
    schema: { version: newest, name: expect.any(String), appliedAt: expect.any(Date) },
    workers: [],
    stranded: [],
    totals: {
      waiting: 0,
      retrying: 0,
      processing: 0,
      stranded: 0,
      failed: 0,
      attention: 0,
      effectsUnknown: 0,
      lagSeconds: 0,
    },
    jobs: [],
    outbox: [],
    paused: [],
    circuits: [],
    unattended: [],
  })
})

test('the status counts waiting, running and failed jobs, and names paused and unattended subscribers', async () => {
  const db = await freshDatabase()
  const mail = await seedJobs(db, 5, { source: 'shop', subscriber: 'mail' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'books', state: 'failed' })
  await seedJobs(db, 9, { source: 'shop', subscriber: 'books', state: 'processed' })
  await seedJobs(db, 1, { source: 'bank', subscriber: 'books' })
  await db.rows(`update hookonce.job set due_at = now() - interval '1 hour' where subscriber = $1`, [mail])
  await db.rows(`update hookonce.source set paused_at = now() where name = 'bank'`)
  await commitMessages(db, newMessage('m', { topic: 'paid' }))
  // Two workers, one of which serves mail and runs two of its jobs. A third has died.
  const worker = await seedWorker(db)
  await db.rows('update hookonce.worker set serves = array[$2::integer] where id = $1', [worker, mail])
  const idle = await seedWorker(db)
  const dead = await seedWorker(db)
  await db.rows('update hookonce.worker set dead_at = now() where id = $1', [dead])
  let claimed = 0
  for (let shard = 0; shard < 16 && claimed < 2; shard += 1)
    claimed += (await claimJobs(db.pool, { shard, worker, slots: new Map([[mail, 1]]) })).length

  const status = await readStatus(ledgerOf(db))
  expect(status.workers).toMatchObject([
    { id: worker, host: 'test', pid: 1, jobs: 2 },
    { id: idle, jobs: 0 },
  ])
  expect(status.totals).toMatchObject({ waiting: 4, retrying: 0, processing: 2, failed: 2, attention: 0 })
  expect(status.totals.lagSeconds).toBeGreaterThanOrEqual(3_600)
  expect(status.jobs).toHaveLength(3)
  expect(status.jobs).toContainEqual(
    expect.objectContaining({ source: 'shop', subscriber: 'books', waiting: 0, failed: 2 }),
  )
  expect(status.outbox).toMatchObject([{ topic: 'paid', waiting: 1, failed: 0 }])
  expect(status.paused).toEqual([
    { tenant: 'default', source: 'bank', subscriber: null, pausedAt: expect.any(Date), pauseReason: null },
  ])
  expect(status.unattended).toEqual([
    { tenant: 'default', source: 'bank', subscriber: 'books', jobs: 1, since: expect.any(Date) },
  ])
})

async function failWith(db: TestDatabase, subscriber: number, reasons: readonly string[]): Promise<void> {
  for (const [index, reason] of reasons.entries())
    await db.rows(
      `update hookonce.job set reason = $2, finished_at = now() - $3::integer * interval '1 minute'
       where (shard, receipt_id, subscriber) = (select shard, receipt_id, subscriber from hookonce.job
         where subscriber = $1 and state = 'failed' and reason is null limit 1)`,
      [subscriber, reason, index],
    )
}

test('failures are grouped by source, subscriber and error, with any ids in the error', async () => {
  const db = await freshDatabase()
  const mail = await seedJobs(db, 6, { source: 'shop', subscriber: 'mail', state: 'failed' })
  const books = await seedJobs(db, 1, { source: 'shop', subscriber: 'books', state: 'failed' })
  await seedJobs(db, 3, { source: 'shop', subscriber: 'mail', state: 'processed' })
  await failWith(db, mail, [
    'gave up after 8 attempts: Error: no customer cus_9f8e7d6c',
    'permanent: Error: no customer cus_1a2b3c4d\n    at handler',
    'Error: no customer 4f9c1c52-0c6c-4f0e-9a49-0d9d7a3f2b11',
    'gave up after 8 attempts: Error: answered 500',
    'gave up after 8 attempts: Error: answered 404',
    'gave up after 24.5 hours: Error: answered 404',
  ])
  await failWith(db, books, ['gave up after 8 attempts: Error: answered 404'])

  const { groups, isComplete } = await listFailures(ledgerOf(db))
  expect(isComplete).toBe(true)
  expect(groups.map(({ subscriber, error, jobs }) => [subscriber, error, jobs])).toEqual([
    ['mail', 'Error: no customer cus_9f8e7d6c', 3],
    ['mail', 'Error: answered 404', 2],
    ['books', 'Error: answered 404', 1],
    ['mail', 'Error: answered 500', 1],
  ])
  const [largest] = groups
  expect(largest).toMatchObject({ tenant: 'default', source: 'shop' })
  const [failed] = await db.rows<{ first: Date; last: Date; ids: string[] }>(
    `select min(finished_at) as first, max(finished_at) as last,
       array_agg(receipt_id order by finished_at desc) as ids
     from hookonce.job where reason like '%no customer%'`,
  )
  expect(largest).toMatchObject({ firstAt: failed?.first, lastAt: failed?.last, receiptIds: failed?.ids })

  const count = async (filter: Parameters<typeof listFailures>[1]): Promise<number> =>
    (await listFailures(ledgerOf(db), filter)).groups.reduce((sum, { jobs }) => sum + jobs, 0)
  expect(await count({ subscriber: 'books' })).toBe(1)
  expect(await count({ source: 'nosuch' })).toBe(0)
  expect(await count({ type: 'count.*' })).toBe(7)
  expect(await count({ type: 'other' })).toBe(0)
  const old = new Date(Date.now() - 150_000)
  expect([await count({ since: old }), await count({ until: old })]).toEqual([4, 3])
})

test('one event is read with its whole chain, including its steps and messages', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { outbox: { publishers: { paid: () => undefined } } })
    .on(
      'test',
      '*',
      async (_, ctx) => {
        await ctx.step('look up', () => 1)
        await ctx.transaction(async (tx) => {
          await tx.publish('paid', { id: 1 }, { key: 'inv_1' })
        })
        await ctx.effect('mail:inv_1', () => undefined)
      },
      { name: 'app' },
    )
    .on('test', '*', () => Promise.reject(new Permanent('no such invoice')), { name: 'books' })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'invoice.paid' })
  await deliver(hooks, { id: 'evt_1', type: 'invoice.paid' })
  await jobsAre(db, 'processed')
  await jobsAre(db, 'failed')
  await hooks.pause('test', 'books')

  const event = await readEvent(await hooks.ledger('test'), id.slice(0, 13))
  expect(event.receipt).toMatchObject({ id, source: 'test', eventKey: 'evt_1', bodyExpired: false })
  expect(event.receipt.body?.toString()).toContain('invoice.paid')
  expect(event.deliveries).toMatchObject({ count: 2, mismatches: 0 })
  expect(event.jobs).toMatchObject([
    { subscriber: 'app', state: 'processed', held: false, steps: expect.arrayContaining(['look up']) },
    { subscriber: 'books', state: 'failed', held: false, steps: [] },
  ])
  expect(event.attempts.map(({ subscriber, outcome }) => [subscriber, outcome]).sort()).toEqual([
    ['app', 'processed'],
    ['books', 'failed'],
  ])
  expect(event.effects).toMatchObject([{ key: 'mail:inv_1', state: 'done', subscriber: 'app' }])
  expect(event.messages).toMatchObject([{ topic: 'paid', key: 'inv_1', subscriber: 'app' }])
  expect(event.paused).toMatchObject([{ source: 'test', subscriber: 'books' }])
})

test('the last delivery of a quiet source is known, beside any number of events of another source', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { source: 'quiet', ageDays: 1, shard: 0, state: 'processed' })
  await seedJobs(db, 120, { source: 'busy', shard: 0, state: 'processed' })
  const [{ at } = { at: new Date(0) }] = await db.rows<{ at: Date }>(
    `insert into hookonce.rollup (size, at, tenant, source, subscriber, received)
     values (10, date_bin('10 minutes', now() - interval '1 day', '2000-01-01Z'), 'default', 'quiet', '', 1) returning at`,
  )
  const sources = await listSources(ledgerOf(db))
  expect(sources.find(({ source }) => source === 'quiet')).toMatchObject({ lastEvent: null, lastHeardAt: at })
  expect(sources.find(({ source }) => source === 'busy')).toMatchObject({ lastHeardAt: null })
})

test('the audit lists decisions, newest first, by page', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 2, { source: 'shop', subscriber: 'gone' })
  const request = { tenant: 'default', source: 'shop', subscriber: 'gone' }
  for (const why of ['one', 'two', 'three']) await settleWaiting(ledgerOf(db), request, { by: 'ada', why })
  const first = await listAudit(ledgerOf(db), { limit: 2 })
  expect(first.entries).toMatchObject([
    { actor: 'ada', action: 'discard-jobs', why: 'three', subject: 'shop gone', detail: { jobs: 0 } },
    { why: 'two' },
  ])
  const second = await listAudit(ledgerOf(db), { limit: 2, after: first.next })
  expect(second).toMatchObject({ entries: [{ why: 'one', detail: { jobs: 2 } }], next: undefined })
  expect((await listAudit(ledgerOf(db), { limit: 2, tenant: 'other' })).entries).toEqual([])
  await expect(listAudit(ledgerOf(db), { limit: 2, after: 'x' })).rejects.toThrow('is not an id of the audit')
})
