import { expect, test } from 'vitest'
import type { Transaction } from '../../src/index.ts'
import { freshDatabase } from '../support/database.ts'
import { deliver, testHooks } from '../support/hooks.ts'
import { jobsAre } from '../support/jobs.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

/* A last transaction that is one query, and returns it, travels with its completion and its commit. */

const INSERT = 'insert into effect (receipt_id, type) values ($1, $2)'
const EVENT = { id: 'evt_1', type: 'a' }

test('it is committed with its job although no reply to the query was heard', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const hooks = testHooks({ ...db, url: proxy.url }).on('test', '*', (event, ctx) => {
    proxy.loseRepliesTo(INSERT)
    return ctx.transaction((tx) => tx.query(INSERT, [event.receiptId, event.type]), { last: true })
  })
  await hooks.start()
  await deliver(hooks, EVENT)
  await until('it is committed', () => db.number('select count(*) from effect'))
  expect(await db.rows('select e.xmin = j.xmin as together, j.state from effect e, hookonce.job j')).toEqual([
    { together: true, state: 'processed' },
  ])
  proxy.cut()
})

test('where the query fails, its own error is told and nothing is committed', async () => {
  const db = await freshDatabase()
  await db.pool.query('alter table effect add unique (type)')
  await db.pool.query(INSERT, [null, 'a'])
  const codes: unknown[] = []
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (event, ctx) =>
    ctx
      .transaction((tx) => tx.query(INSERT, [event.receiptId, event.type]), { last: true })
      .catch((error) => {
        codes.push(error.code)
        throw error
      }),
  )
  await hooks.start()
  await deliver(hooks, EVENT)
  await jobsAre(db, 'failed')
  expect(codes).toEqual(['23505'])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('under a stale fence nothing of it is committed', async () => {
  const db = await freshDatabase()
  const codes: unknown[] = []
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await db.pool.query('update hookonce.job set fence = fence + 1')
    await ctx
      .transaction((tx) => tx.query(INSERT, [event.receiptId, event.type]), { last: true })
      .catch((error) => codes.push(error.code))
  })
  await hooks.start()
  await deliver(hooks, EVENT)
  await until('it was refused', () => codes.length)
  expect(codes).toEqual(['LEASE_LOST'])
  expect(await db.number('select count(*) from effect')).toBe(0)
  expect(await db.rows('select state, fence from hookonce.job')).toEqual([{ state: 'processing', fence: 2 }])
})

test('what comes behind it is refused, and not run outside of the transaction', async () => {
  const db = await freshDatabase()
  const codes: unknown[] = []
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    let late: Promise<unknown> = Promise.resolve()
    function andMore(tx: Transaction): Promise<unknown> {
      // As soon as the function has returned.
      late = Promise.resolve()
        .then(() => tx.query(INSERT, [event.receiptId, 'late']))
        .catch((error) => codes.push(error.code))
      return tx.query(INSERT, [event.receiptId, event.type])
    }
    await ctx.transaction(andMore, { last: true })
    await late
  })
  await hooks.start()
  await deliver(hooks, EVENT)
  await jobsAre(db, 'processed')
  expect(codes).toEqual(['CONTEXT_CLOSED'])
  expect(await db.rows('select type from effect')).toEqual([{ type: 'a' }])
})

test('a second query beside it is waited for', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await ctx.transaction(
      (tx) => {
        const first = tx.query(INSERT, [event.receiptId, 'first'])
        return first.then(() => tx.query(INSERT, [event.receiptId, 'second']))
      },
      { last: true },
    )
  })
  await hooks.start()
  await deliver(hooks, EVENT)
  await jobsAre(db, 'processed')
  expect(await db.rows('select type from effect order by type')).toEqual([
    { type: 'first' },
    { type: 'second' },
  ])
})
