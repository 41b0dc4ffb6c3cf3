import 'reflect-metadata'
import { postgresKeys } from 'hookonce/keys'
import { type CrashPoint, testHooks, testKeys } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { createTables } from '../src/tables.ts'

const stripeSecret = 'whsec_test'
const setup = createTables

/** Clients that order. */
const startKeys = () =>
  testKeys(
    async (store, database) => {
      const { app } = await createApp({ database, store, stripeSecret })
      await app.init()
      return app.getHttpAdapter().getInstance()
    },
    { store: (database) => postgresKeys({ database }), setup },
  )

/** Stripe that reports payments. */
const startHooks = () =>
  testHooks(
    async (database) => {
      const store = postgresKeys({ database })
      const { hooks, app, close } = await createApp({ database, store, stripeSecret })
      await app.init()
      return {
        hooks,
        app: app.getHttpAdapter().getInstance(),
        close: () => Promise.all([close(), store.close()]),
      }
    },
    { setup },
  )

const post = { path: '/orders', headers: { 'x-customer': 'ann' }, body: { sku: 'mug' } }
const ORDER = '6f1f3c1e-9f0a-4a52-8a53-0c9a6a4f0001'
const succeeded = { data: { object: { metadata: { order: ORDER } } } }
const insertOrder = `insert into orders (id, customer, sku, status) values ('${ORDER}', 'ann', 'mug', 'open')`

test('a client sends its order five times: one order, five times the same reply', async () => {
  await using k = await startKeys()
  const { replies } = await k.send({ ...post, times: 5 })
  expect(await k.rows('orders')).toHaveLength(1)
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  expect(new Set(replies.map(({ body }) => body)).size).toBe(1)
})

test.each(['handler', 'reply'] as const)(
  'the process dies at the %s: the retry gets one order',
  async (point) => {
    await using k = await startKeys()
    k.crashAt(point)
    const { key, reply } = await k.send(post)
    if (reply.status === 409) await k.clock.advance('2m') // until the lock of the dead process expires
    const { reply: last } = await k.send({ ...post, key })
    expect(last.status).toBe(201)
    expect(await k.rows('orders')).toMatchObject([{ sku: 'mug', status: 'open' }])
  },
)

test('Stripe reports the payment five times at once: the order is paid', async () => {
  await using t = await startHooks()
  await t.pool.query(insertOrder)
  const delivered = await t.deliver('stripe', 'payment_intent.succeeded', succeeded, {
    times: 5,
    concurrently: true,
  })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('orders')).toMatchObject([{ id: ORDER, status: 'paid' }])
  expect(await t.jobs()).toHaveLength(1)
})

test.each<CrashPoint>(['write', 'commit', 'ack'])(
  'the process dies at %s: the order is paid',
  async (point) => {
    await using t = await startHooks()
    await t.pool.query(insertOrder)
    t.crashAt(point)
    await t.deliver('stripe', 'payment_intent.succeeded', succeeded)
    await t.settled()
    expect(await t.rows('orders')).toMatchObject([{ status: 'paid' }])
  },
)

test('the payment is reported before the order is there: a retry finds it', async () => {
  await using t = await startHooks()
  await t.deliver('stripe', 'payment_intent.succeeded', succeeded)
  await t.waitFor({ state: 'retrying' })
  await t.pool.query(insertOrder)
  await t.settled()
  expect(await t.rows('orders')).toMatchObject([{ status: 'paid' }])
})
