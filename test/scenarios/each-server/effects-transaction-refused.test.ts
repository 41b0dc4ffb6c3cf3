import { expect, test } from 'vitest'
import type { Transaction } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('two transactions of one name in one run are refused, two of different names are two', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', async (event, ctx) => {
    await ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, '1']), { name: 'first' })
    await ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, '2']), { name: event.type })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'second' })
  await jobsAre(db, 'processed')
  expect(await db.number('select count(*) from effect')).toBe(2)
  await deliver(hooks, { id: 'evt_2', type: 'first' })
  await until('the other has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  expect(await db.rows(`select reason from hookonce.job where state = 'failed'`)).toEqual([
    { reason: expect.stringContaining('STEP_REPEATED') },
  ])
})

test('statements that would break a transaction apart are refused, each with advice', async () => {
  const db = await freshDatabase()
  const faults: string[] = []
  const note = (error: unknown) => void faults.push(String(error))
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    let leaked: Transaction | undefined
    await ctx.transaction(async (tx) => {
      leaked = tx
      await ctx.transaction(async () => undefined, { name: 'inner' }).catch(note)
      await ctx.effect('mail', () => undefined).catch(note)
      await ctx.step('step', () => undefined).catch(note)
      for (const text of [
        'COMMIT',
        ' rollback',
        '/* now */ begin',
        '-- all\nEND work',
        'start transaction',
      ]) {
        await tx.query(text).catch(note)
      }
      await tx.query('savepoint mine')
      await tx.query('rollback to savepoint mine')
      await tx.query(INSERT_EFFECT, [event.receiptId, 'written'])
    })
    await leaked?.query('select 1').catch(note)
    // In parallel they are two transactions, with their own names.
    await Promise.all([
      ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'one']), { name: 'one' }),
      ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'two']), { name: 'two' }),
    ])
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(faults.slice(0, 3)).toEqual(
    ['transaction', 'effect', 'step'].map((call) =>
      expect.stringContaining(`ctx.${call}() was called while the transaction "transaction" was open`),
    ),
  )
  expect(faults.slice(3, 8)).toEqual(
    Array.from({ length: 5 }, () => expect.stringContaining('TRANSACTION_MISUSED')),
  )
  expect(faults.slice(8)).toEqual([expect.stringContaining('CONTEXT_CLOSED')])
  expect(await db.number('select count(*) from effect')).toBe(3)
})

test('calls that would commit outside an open transaction are refused until it has ended', async () => {
  const db = await freshDatabase()
  const outcomes: string[] = []
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    let end = (): void => undefined
    let begun = (): void => undefined
    const ending = new Promise<void>((resolve) => (end = resolve))
    const hasBegun = new Promise<void>((resolve) => (begun = resolve))
    const transacting = ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, 'written'])
      begun()
      await ending
    })
    await hasBegun
    const mail = () => ctx.effect('mail', () => 'sent')
    outcomes.push(await mail().catch(String))
    end()
    await transacting
    outcomes.push(await mail())
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(outcomes).toEqual([expect.stringContaining('TRANSACTION_MISUSED'), 'sent'])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a result that JSON cannot hold is refused with advice, and nothing is written', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
      return { inserted: 1n }
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the job has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    {
      reason: expect.stringContaining(
        'the result of transaction "transaction" holds a bigint at "inserted": return plain data',
      ),
    },
  ])
  expect(await db.number('select count(*) from effect')).toBe(0)
})

test('a transaction whose result the ledger cannot store is rolled back, with the reason', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, 'written'])
      return { text: 'a\0b' }
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed' and reason like 'RESULT_NOT_JSON%'`),
  )
  expect(await db.number('select count(*) from effect')).toBe(0)
})
