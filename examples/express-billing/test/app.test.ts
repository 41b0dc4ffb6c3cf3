import { toHttp } from 'hookonce/publishers'
import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { createTables } from '../src/tables.ts'

const inStripe = { id: 'in_1', status: 'paid', amount_paid: 500 } as Stripe.Invoice
const ACCOUNTING_SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`

const start = () =>
  testHooks(
    (database, { downstream }) =>
      createApp({
        database,
        stripeSecret: 'whsec_test',
        mailUrl: downstream.url,
        fetchInvoice: async () => inStripe,
        accounting: toHttp({ url: `${downstream.url}/accounting`, secret: ACCOUNTING_SECRET }),
      }),
    { setup: createTables }, // once per server: each test gets a clone of the result
  )

const invoice = (status: string, amount_paid = 0) => ({
  data: { object: { id: 'in_1', status, amount_paid, customer_email: 'ann@example.com' } },
})
const paid = invoice('paid', 500)
const row = { id: 'in_1', status: 'paid', amount_paid: 500 }

test('Stripe reports an invoice five times at once: one row, one e-mail', async () => {
  await using t = await start()
  const delivered = await t.deliver('stripe', 'invoice.paid', paid, { times: 5, concurrently: true })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('invoices')).toEqual([row])
  expect(await t.effects('receipt-email:in_1')).toHaveHappenedOnce()
  expect(t.downstream.at('/emails')).toHaveHappenedOnce()
})

test('two events report the payment: one e-mail', async () => {
  await using t = await start()
  await t.deliver('stripe', ['invoice.paid', 'invoice.payment_succeeded'], paid, { reorder: true })
  await t.settled()
  expect(t.downstream.at('/emails')).toHaveHappenedOnce()
})

test.each<CrashPoint>(['write', 'commit', 'effect:receipt-email:in_1', 'ack'])(
  'the process dies at %s: one row, one e-mail, one message',
  async (point) => {
    await using t = await start()
    t.crashAt(point)
    await t.deliver('stripe', 'invoice.paid', paid)
    await t.settled()
    expect(await t.rows('invoices')).toEqual([row])
    expect(t.downstream.at('/emails')).toHaveHappenedOnce()
    expect(t.downstream.at('/accounting')).toHaveHappenedOnce()
  },
)

test('the mail service is down for hours, then loses its reply: one e-mail', async () => {
  await using t = await start()
  t.downstream.reply('/emails', 503, 503, 'down', 'lose')
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  expect(t.downstream.at('/emails')).toHaveHappenedOnce()
})

test('the row is up to date, in whatever order events arrive, even within one second', async () => {
  await using t = await start()
  const event = (type: string, overrides: object, created: number) => ({
    source: 'stripe' as const,
    type,
    overrides: { ...overrides, created },
  })
  const events = [
    event('invoice.finalized', invoice('open'), 1_700_000_000),
    event('invoice.paid', paid, 1_700_000_000),
  ]
  await t.permutations(events, { maxTimes: 1 })
})

test('a delivery with a wrong signature, and one that is too old, change nothing', async () => {
  await using t = await start()
  expect(await t.deliver('stripe', 'invoice.paid', paid, { tamper: 'body' })).toBeRefusedWith(
    'SIGNATURE_MISMATCH',
  )
  expect(await t.deliver('stripe', 'invoice.paid', paid, { at: '-1h' })).toBeRefusedWith('TIMESTAMP_TOO_OLD')
  expect(await t.rows('invoices')).toEqual([])
})
