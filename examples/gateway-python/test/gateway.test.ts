import { testGateway } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { expect, test } from 'vitest'
import { startLosingProxy } from './losing-proxy.ts'
import { startPythonApp } from './python-app.ts'

const FORWARD_SECRET = `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`
const env = { STRIPE_WEBHOOK_SECRET: 'whsec_test', FORWARD_SECRET }

const start = (app: string) => testGateway('hookonce.config.yaml', { env, urls: { app: `${app}/webhooks` } })

const paid = { data: { object: { id: 'in_1', amount_paid: 500 } } }
const payments = [{ invoice: 'in_1', amount: 500 }]

test('Stripe delivers five times at once: one payment', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  await using t = await start(app.url())
  const delivered = await t.deliver('stripe', 'invoice.paid', paid, { times: 5, concurrently: true })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await app.payments()).toEqual(payments)
})

test('the gateway dies before it answers: one payment', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  await using t = await start(app.url())
  t.crashAt('ack')
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  expect(await app.payments()).toEqual(payments)
})

test('the reply of the app is lost: it gets the event again, and records one payment', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  await using proxy = await startLosingProxy(app.url())
  await using t = await start(proxy.url)
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  expect(proxy.passed()).toBeGreaterThan(1)
  expect(await app.payments()).toEqual(payments)
})

test('the app is killed, and started again: the gateway has kept the event', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  await using t = await start(app.url())
  await app.kill()
  const delivered = await t.deliver('stripe', 'invoice.paid', paid)
  expect(delivered).toBeAcknowledged()
  await t.waitFor({ state: 'retrying' })
  await app.start()
  await t.settled()
  expect(await app.payments()).toEqual(payments)
})

test('a delivery with a wrong signature, and another type of event, do not reach the app', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  await using t = await start(app.url())
  const forged = await t.deliver('stripe', 'invoice.paid', paid, { tamper: 'body' })
  expect(forged).toBeRefusedWith('SIGNATURE_MISMATCH')
  await t.deliver('stripe', 'customer.updated')
  await t.settled()
  expect(await app.payments()).toEqual([])
})

test('the app refuses a request that the gateway did not sign', async () => {
  await using app = await startPythonApp(FORWARD_SECRET)
  const reply = await fetch(`${app.url()}/webhooks`, { method: 'POST', body: JSON.stringify(paid) })
  expect(reply.status).toBe(401)
  expect(await app.payments()).toEqual([])
})
