import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createApp } from './app.ts'

// Once per server: each test gets a clone of the result.
async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(`
    create table payments (invoice text primary key, amount integer not null);
    create table customers (id text primary key, email text not null)`)
  await client.end()
}

const start = () =>
  testHooks(
    (database, { downstream }) =>
      createApp({ database, stripeSecret: 'whsec_test', mailUrl: downstream.url }),
    { setup },
  )

const paid = { data: { object: { id: 'in_1', amount_paid: 500 } } }

test('Stripe reports an invoice five times at once: one payment, one mail', async () => {
  await using t = await start()
  const delivered = await t.deliver('stripe', 'invoice.paid', paid, { times: 5, concurrently: true })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('payments')).toEqual([{ invoice: 'in_1', amount: 500 }])
  expect(await t.effects('receipt:in_1')).toHaveHappenedOnce()
  expect(t.downstream.at('/mails')).toHaveHappenedOnce()
})

test.each<CrashPoint>(['write', 'commit', 'effect:receipt:in_1', 'ack'])(
  'the process dies at %s: one payment, one mail',
  async (point) => {
    await using t = await start()
    t.crashAt(point)
    await t.deliver('stripe', 'invoice.paid', paid)
    await t.settled()
    expect(await t.rows('payments')).toHaveLength(1)
    expect(t.downstream.at('/mails')).toHaveHappenedOnce()
  },
)

test('the mail service is down for hours, then loses its reply: one mail', async () => {
  await using t = await start()
  t.downstream.reply('/mails', 503, 503, 'down', 'lose')
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  expect(t.downstream.at('/mails')).toHaveHappenedOnce()
})

test('a customer is up to date, in whatever order Stripe tells of the changes', async () => {
  await using t = await start()
  const change = (email: string, created: number) => ({
    source: 'stripe' as const,
    type: 'customer.updated',
    overrides: { created, data: { object: { id: 'cus_1', email } } },
  })
  await t.permutations([change('a@example.com', 1_700_000_000), change('b@example.com', 1_700_000_100)])
})

test('a delivery that nobody signed, and one that is too old, change nothing', async () => {
  await using t = await start()
  expect(await t.deliver('stripe', 'invoice.paid', paid, { tamper: 'body' })).toBeRefusedWith(
    'SIGNATURE_MISMATCH',
  )
  expect(await t.deliver('stripe', 'invoice.paid', paid, { at: '-1h' })).toBeRefusedWith('TIMESTAMP_TOO_OLD')
  expect(await t.rows('payments')).toEqual([])
})
