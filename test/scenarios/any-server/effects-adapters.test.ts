import { beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../../src/publishers/contract.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { makePrisma, type Orm, orms } from '../../support/orms.ts'
import { until } from '../../support/until.ts'

const PAYMENTS = 'select invoice from public.payment order by invoice'

/** The first run installs a package with its dependencies. */
beforeAll(() => void makePrisma(), 300_000)

describe.each(orms)('a transaction of $name', ({ open }) => {
  async function opened(): Promise<{ db: TestDatabase; hooks: TestHooks; orm: Orm; got: Message[] }> {
    const db = await freshDatabase()
    await db.rows('create table public.payment (invoice text primary key)')
    const got: Message[] = []
    const hooks = testHooks(db, {
      outbox: { publishers: { '*': (message) => void got.push(message) } },
      retry: { maxAttempts: 1 },
    })
    return { db, hooks, orm: await open(db.url), got }
  }

  const jobs = (db: TestDatabase) => db.rows('select state::text, last_step, reason from hookonce.job')
  const ended = (db: TestDatabase): Promise<unknown> =>
    until('the job has ended', () =>
      db.number(`select count(*) from hookonce.job where state in ('processed', 'failed')`),
    )

  test('commits its writes with the record of the step and the message; a replay repeats neither', async () => {
    const { db, hooks, orm, got } = await opened()
    const results: unknown[] = []
    hooks.on('test', '*', async (event, ctx) => {
      const result = await ctx.transaction(
        async (tx, native) => {
          await orm.pay(native, event.key)
          tx.publish('paid', { b: 1, a: 'é \u0000' }, { key: event.key })
          return { paid: event.key }
        },
        { on: orm.on },
      )
      results.push(result)
    })
    await hooks.start()
    const receipt = await deliver(hooks, { id: 'in_1', type: 'a' })
    await until('it is published', () => got.length === 1)
    await ended(db)
    expect(got[0]?.body).toBe('{"b":1,"a":"é \\u0000"}')
    expect(await db.rows('select name, result from hookonce.step')).toEqual([
      { name: 'transaction', result: { paid: 'in_1' } },
    ])
    await hooks.replay(receipt)
    await until('it ran again', () => results.length === 2)
    expect(results).toEqual([{ paid: 'in_1' }, { paid: 'in_1' }])
    expect(await db.rows(PAYMENTS)).toEqual([{ invoice: 'in_1' }])
    expect(await db.number('select count(*) from hookonce.outbox')).toBe(1)
  })

  test('completes the job in its commit when it is the last', async () => {
    const { db, hooks, orm } = await opened()
    hooks.on('test', '*', (event, ctx) =>
      ctx.transaction(async (_, native) => void (await orm.pay(native, event.key)), {
        on: orm.on,
        last: true,
        name: 'pay',
      }),
    )
    await hooks.start()
    await deliver(hooks, { id: 'in_1', type: 'a' })
    await ended(db)
    expect(await jobs(db)).toEqual([{ state: 'processed', last_step: 'pay', reason: null }])
    expect(await db.rows(PAYMENTS)).toEqual([{ invoice: 'in_1' }])
  })

  test('rolls everything back when the handler throws', async () => {
    const { db, hooks, orm } = await opened()
    hooks.on('test', '*', (event, ctx) =>
      ctx.transaction(
        async (tx, native) => {
          await orm.pay(native, event.key)
          tx.publish('paid', 1)
          throw new Error('changed my mind')
        },
        { on: orm.on },
      ),
    )
    await hooks.start()
    await deliver(hooks, { id: 'in_1', type: 'a' })
    await ended(db)
    expect(await jobs(db)).toMatchObject([
      { state: 'failed', reason: expect.stringContaining('changed my mind') },
    ])
    expect(await db.rows(PAYMENTS)).toEqual([])
    expect(await db.number('select count(*) from hookonce.step')).toBe(0)
    expect(await db.number('select count(*) from hookonce.outbox')).toBe(0)
  })

  test.each([{ last: false }, { last: true }])(
    'rolls back under a stale fence (last: $last)',
    async ({ last }) => {
      const { db, hooks, orm } = await opened()
      let error: unknown
      hooks.on('test', '*', async (event, ctx) => {
        const work = ctx.transaction(
          async (tx, native) => {
            await orm.pay(native, event.key)
            tx.publish('paid', 1)
            await db.rows('update hookonce.job set fence = fence + 1')
          },
          { on: orm.on, last },
        )
        error = await work.catch((thrown) => thrown)
      })
      await hooks.start()
      await deliver(hooks, { id: 'in_1', type: 'a' })
      await until('the transaction has failed', () => error)
      expect(error).toMatchObject({ code: 'LEASE_LOST' })
      expect(await db.rows(PAYMENTS)).toEqual([])
      expect(await db.number('select count(*) from hookonce.outbox')).toBe(0)
      expect(await db.number('select fence from hookonce.job')).toBe(2)
    },
  )

  test('commits effect keys and versions with it: once for all events, and only what is newer', async () => {
    const { db, hooks, orm, got } = await opened()
    hooks.on('test', '*', (event, ctx) =>
      ctx.transaction(
        async (tx, native) => {
          const { by } = await tx.effect(
            'credit:1',
            async () => {
              await orm.pay(native, `credit of ${event.key}`)
              return { by: event.key }
            },
            { input: { credit: 1 } },
          )
          const version = { new: 2, old: 1 }[event.type]
          await tx.latest('invoice:1', version, async () => {
            await orm.pay(native, event.key)
            tx.publish('paid', { by })
          })
          if (event.type === 'failing') throw new Error('changed my mind')
        },
        { on: orm.on },
      ),
    )
    await hooks.start()
    for (const [n, type] of ['failing', 'new', 'old'].entries()) {
      await deliver(hooks, { id: `evt_${n}`, type })
      await until('the job has ended', async () => {
        const open = `select count(*) from hookonce.job where state not in ('processed', 'failed')`
        return (await db.number(open)) === 0
      })
    }
    await until('it is published', () => got.length === 1)
    expect(await db.rows('select state::text, reason from hookonce.job order by finished_at')).toEqual([
      { state: 'failed', reason: expect.any(String) },
      { state: 'processed', reason: null },
      { state: 'processed', reason: expect.stringContaining('stale: invoice:1 is at 2') },
    ])
    expect(await db.rows(PAYMENTS)).toEqual([{ invoice: 'credit of evt_1' }, { invoice: 'evt_1' }])
    expect(got.map(({ payload }) => payload)).toEqual([{ by: 'evt_1' }])
    expect(await db.rows('select mode, state::text, result from hookonce.effect')).toEqual([
      { mode: 'tx', state: 'done', result: { by: 'evt_1' } },
    ])
    expect(await db.rows('select name, version from hookonce.entity')).toEqual([
      { name: 'invoice:1', version: '2' },
    ])
  })

  test('that meets an effect of unknown outcome is rolled back, and its job waits for a person', async () => {
    const { db, hooks, orm } = await opened()
    hooks.on('test', '*', async (event, ctx) => {
      if (event.type === 'call')
        await ctx.effect('credit:1', () => Promise.reject(new Error('lost')), { mode: 'atMostOnce' })
      await ctx.transaction(
        async (tx, native) => {
          await orm.pay(native, event.key)
          await tx.effect('credit:1', async () => undefined).catch(() => undefined)
        },
        { on: orm.on },
      )
    })
    await hooks.start()
    const waiting = (count: number): Promise<unknown> =>
      until(`${count} jobs wait for a person`, async () => {
        return (await db.number(`select count(*) from hookonce.job where state = 'attention'`)) === count
      })
    await deliver(hooks, { id: 'evt_1', type: 'call' })
    await waiting(1)
    await deliver(hooks, { id: 'evt_2', type: 'write' })
    await waiting(2)
    expect(await db.rows(PAYMENTS)).toEqual([])
  })

  test('is retried inside if the server requests it', async () => {
    const { db, hooks, orm } = await opened()
    let tries = 0
    hooks.on('test', '*', (event, ctx) =>
      ctx.transaction(
        async (_, native) => {
          await orm.pay(native, event.key)
          tries += 1
          if (tries < 3)
            await orm.raw(native, `do $$ begin raise exception 'no' using errcode = '40001'; end $$`)
        },
        { on: orm.on },
      ),
    )
    await hooks.start()
    await deliver(hooks, { id: 'in_1', type: 'a' })
    await ended(db)
    expect(await jobs(db)).toMatchObject([{ state: 'processed' }])
    expect(tries).toBe(3)
    expect(await db.rows(PAYMENTS)).toEqual([{ invoice: 'in_1' }])
  })

  test('on a database without a ledger is refused, and rolled back there', async () => {
    const { db, hooks } = await opened()
    const other = await freshDatabase()
    await other.rows('create table public.payment (invoice text primary key); drop schema hookonce cascade')
    const orm = await open(other.url)
    hooks.on('test', '*', (event, ctx) =>
      ctx.transaction(async (_, native) => void (await orm.pay(native, event.key)), { on: orm.on }),
    )
    await hooks.start()
    await deliver(hooks, { id: 'in_1', type: 'a' })
    await ended(db)
    expect(await jobs(db)).toMatchObject([
      { state: 'failed', reason: expect.stringContaining('TRANSACTION_ELSEWHERE') },
    ])
    expect(await other.rows(PAYMENTS)).toEqual([])
  })
})
