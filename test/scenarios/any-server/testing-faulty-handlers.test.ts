import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import '../../../src/testing/vitest.ts'
import { HookonceError } from '../../../src/index.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { assertHappened, type TestHooks } from '../../../src/testing/index.ts'
import { kit, unstarted } from '../../support/kit.ts'
import type { testSource } from '../../support/source.ts'

/* Handlers with common faults. The kit must reveal each of them. */

type Kit = TestHooks<{ test: ReturnType<typeof testSource> }>

function plainPool(t: Kit): pg.Pool {
  const pool = quietPool(new pg.Pool({ connectionString: t.database, max: 2 }))
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

test('marked before the work: a crash loses the mail', async () => {
  let t: Kit | undefined
  const hooks = unstarted().on('test', 'paid', async (event, ctx) => {
    const invoice = String(event.payload.invoice)
    const marked = await t?.pool.query('insert into payments (invoice) values ($1) on conflict do nothing', [
      invoice,
    ])
    if (marked?.rowCount === 0) return
    await ctx.step('prepare', () => undefined)
    await fetch(`${t?.downstream.url}/mail`, { method: 'POST', body: invoice })
  })
  t = await kit(hooks)
  t.crashAt('step:prepare')
  await t.deliver('test', 'paid', { invoice: 'in_1' })
  await t.settled()
  expect(await t.jobs()).toMatchObject([{ state: 'processed' }])
  expect(() => expect(t?.downstream.at('/mail')).toHaveHappenedOnce()).toThrow(
    'expected calls of /mail to have happened once, but it happened 0 times',
  )
})

test('a call without a key: a crash after it sends two mails', async () => {
  let t: Kit | undefined
  const hooks = unstarted().on('test', 'paid', async (_, ctx) => {
    await ctx.effect('mail:in_1', async () => {
      await fetch(`${t?.downstream.url}/mail`, { method: 'POST' })
    })
  })
  t = await kit(hooks)
  t.crashAt('effect:mail:in_1')
  await t.deliver('test', 'paid')
  await t.settled()
  // The ledger has recorded one effect: only the called service knows better.
  expect(await t.effects('mail:in_1')).toHaveHappenedOnce()
  expect(() => expect(t?.downstream.at('/mail')).toHaveHappenedOnce()).toThrow(
    /to have happened once, but it happened 2 times\n {2}POST \/mail, without an Idempotency-Key: acted\n/,
  )
  expect(() => assertHappened(t?.downstream.at('/mail') ?? { path: '', calls: [], happened: 0 })).toThrow(
    HookonceError,
  )
})

test('a write outside the transaction: a crash before the commit leaves a second row', async () => {
  let pool: pg.Pool | undefined
  const hooks = unstarted().on('test', 'paid', async (event, ctx) => {
    await ctx.transaction(async (tx) => {
      await pool?.query('insert into mails (invoice) values ($1)', [event.payload.invoice])
      await tx.query('insert into payments (invoice) values ($1)', [event.payload.invoice])
    })
  })
  const t = await kit(hooks)
  pool = plainPool(t)
  t.crashAt('write')
  await t.deliver('test', 'paid', { invoice: 'in_1' })
  await t.settled()
  expect(await t.rows('payments')).toHaveLength(1)
  expect(await t.rows('mails')).toHaveLength(2)
})

const events = ['open', 'paid', 'refunded'].map((status, index) => ({
  source: 'test' as const,
  type: 'invoice.changed',
  overrides: { invoice: 'in_1', status, version: index + 1 },
}))
const OVERWRITE = `insert into invoices (id, status) values ($1, $2) on conflict (id) do update set status = excluded.status`

test('an overwrite without a version depends on the order: the shortest schedule is shown', async () => {
  const hooks = unstarted().on('test', 'invoice.changed', (event, ctx) =>
    ctx.write({ text: OVERWRITE, values: [event.payload.invoice, event.payload.status] }),
  )
  const t = await kit(hooks)
  const failure = await t.permutations(events, { maxTimes: 1 }).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'TEST_DIVERGED' })
  // Two deliveries are enough.
  expect(String(failure).split('\n').slice(1)).toEqual([
    expect.stringMatching(/^ {4}test invoice.changed \(event [23] of the list\)$/),
    expect.stringMatching(/^ {4}test invoice.changed \(event [12] of the list\)$/),
    '  public.invoices (- expected, + after this schedule):',
    expect.stringMatching(/^ {4}- \{"id":"in_1","status":"(paid|refunded)"\}$/),
    expect.stringMatching(/^ {4}\+ \{"id":"in_1","status":"(open|paid)"\}$/),
  ])
  // The hooks are on the database of the test again.
  await t.deliver('test', 'invoice.changed', { invoice: 'in_9', status: 'open' })
  await t.settled()
  expect(await t.rows('invoices')).toEqual([{ id: 'in_9', status: 'open' }])
})

test('with ctx.latest the same events converge, in every order and number', async () => {
  const hooks = unstarted().on('test', 'invoice.changed', (event, ctx) =>
    ctx.latest('invoice:in_1', Number(event.payload.version), (tx) =>
      tx.query(OVERWRITE, [event.payload.invoice, event.payload.status]),
    ),
  )
  const t = await kit(hooks)
  const { tried, isExhaustive } = await t.permutations(events.slice(1))
  expect({ tried, isExhaustive }).toEqual({ tried: 14, isExhaustive: true })
  const sampled = await t.permutations(events, { limit: 6, seed: 5 })
  expect(sampled).toEqual({ tried: 6, isExhaustive: false, seed: 5 })
})

test('matchers of deliveries report the answers that the sender got', async () => {
  const t = await kit(unstarted().on('test', '*', () => undefined))
  const good = await t.deliver('test', 'paid', {}, { key: 'evt_1', loseReply: true })
  const forged = await t.deliver('test', 'paid', {}, { key: 'evt_2', tamper: 'body' })
  expect(good).toBeAcknowledged()
  expect(forged).not.toBeAcknowledged()
  expect(forged).toBeRefusedWith('SIGNATURE_MISMATCH')
  expect(() => expect(forged).toBeAcknowledged()).toThrow(
    'expected test paid evt_2 to be acknowledged; its deliveries were answered: 401, SIGNATURE_MISMATCH',
  )
  expect(() => expect(good).toBeRefusedWith('BODY_MISMATCH')).toThrow('answered: no reply, 200')
  expect(() => expect(3).toHaveHappenedOnce()).toThrow(
    'pass `await t.effects(key)` or `t.downstream.at(path)`',
  )
  const nothing = await t.effects('mistyped')
  expect(() => expect(nothing).toHaveHappenedOnce()).toThrow('nothing is recorded under this key')
})
