import { testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { mailHooks } from '../../../examples/guides/email-once.ts'
import { tenantApp } from '../../../examples/guides/many-tenants.ts'
import { subscriptionHooks } from '../../../examples/guides/out-of-order.ts'
import { rotatingHooks } from '../../../examples/guides/rotate-a-secret.ts'

/* The promises of the guides, tested with the code that they show. */

process.env.HOOKONCE_TEST_DATABASE_URL = inject('serverUrl')

// The guide "Test your webhook handlers" shows these tests.
await import('../../../examples/guides/charge-once.test.ts')

const TABLES = `
  create table payments (tenant text, invoice text not null, unique (tenant, invoice));
  create table subscriptions (id text primary key, status text not null)`

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(TABLES)
  await client.end()
}

type Given = Parameters<typeof testHooks>[0]

async function start(given: Given) {
  const t = await testHooks(given, { setup, setupVersion: TABLES })
  onTestFinished(() => t.close())
  return t
}

const paid = { data: { object: { id: 'in_1', customer_email: 'ann@example.com' } } }

test('e-mail once: two events and their copies send one mail', async () => {
  const sent: string[] = []
  const t = await start((database) =>
    mailHooks(database, 'whsec_x', async ({ to, subject }) => {
      sent.push(`${to}: ${subject}`)
    }),
  )
  await t.deliver('stripe', 'invoice.paid', paid, { times: 3, concurrently: true })
  await t.deliver('stripe', 'invoice.payment_succeeded', paid)
  await t.settled()
  expect(sent).toEqual(['ann@example.com: Your receipt for in_1'])
})

test('e-mail once: a crash during the mail sends no second one, and a person decides', async () => {
  const sent: string[] = []
  const t = await start((database) =>
    mailHooks(database, 'whsec_x', async ({ to }) => {
      sent.push(to)
    }),
  )
  t.crashAt('effect:receipt-email:in_1')
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  expect(sent).toHaveLength(1)
  expect((await t.jobs()).map(({ state }) => state)).toEqual(['attention'])
})

test('out of order: the subscription ends the same in every order', async () => {
  const t = await start((database) =>
    subscriptionHooks(database, 'whsec_x', async (id) => ({ id, status: 'canceled' })),
  )
  const change = (type: string, status: string, created: number) => ({
    source: 'stripe',
    type: `customer.subscription.${type}`,
    overrides: { created, data: { object: { id: 'sub_1', status } } },
  })
  const changes = [
    change('created', 'active', 1_700_000_000),
    change('updated', 'past_due', 1_700_000_100),
    change('deleted', 'canceled', 1_700_000_200),
  ]
  await t.permutations(changes, { maxTimes: 1 })
})

test('rotate a secret: deliveries with the new and with the old one are accepted', async () => {
  const env = { STRIPE_WEBHOOK_SECRET: 'whsec_new', STRIPE_WEBHOOK_SECRET_OLD: 'whsec_old' }
  const both = await start((database) => rotatingHooks(database, env))
  await both.deliver('stripe', 'invoice.paid', paid)
  await both.settled()
  expect(await both.rows('payments')).toHaveLength(1)
  const { stripe } = await import('hookonce/sources')
  const body = JSON.stringify({
    id: 'evt_old',
    type: 'invoice.paid',
    created: 1,
    data: { object: { id: 'in_2' } },
  })
  const { sign } = await import('hookonce/sources')
  const old = stripe({ secret: 'whsec_old' })
  const hooks = rotatingHooks(both.database, env)
  onTestFinished(() => hooks.stop())
  const send = (headers: Record<string, string>) =>
    hooks.fetch(new Request('http://x/webhooks/stripe', { method: 'POST', body, headers }))
  expect((await send(sign(old, { body }))).status).toBe(202)
  const other = stripe({ secret: 'whsec_of_somebody' })
  expect((await send(sign(other, { body }))).status).toBe(401)
})

test('many tenants: the same event of two tenants is two events, and no secret opens the other', async () => {
  const secrets = { acme: 'whsec_acme', globex: 'whsec_globex' }
  const t = await start((database) => tenantApp(database, secrets))
  const event = { id: 'evt_1', ...paid }
  await t.deliver('acme/stripe', 'invoice.paid', event, { times: 2 })
  await t.deliver('globex/stripe', 'invoice.paid', event)
  await t.settled()
  expect(await t.rows('payments')).toEqual([
    { tenant: 'acme', invoice: 'in_1' },
    { tenant: 'globex', invoice: 'in_1' },
  ])
})
