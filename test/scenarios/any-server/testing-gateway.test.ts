import { expect, inject, onTestFinished, test } from 'vitest'
import { type TestGatewayOptions, testGateway } from '../../../src/testing/index.ts'
import { configFile, destination, ENV } from '../../support/gateway.ts'

const CONFIG = {
  sources: {
    stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' },
    'acme/stripe': { provider: 'stripe', secret: 'env:STRIPE_SECRET' },
  },
  destinations: {
    app: { url: 'http://127.0.0.1:9/hooks', secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] },
  },
  routes: [{ from: ['stripe', 'acme/stripe'], types: 'invoice.*', to: 'app' }],
}

async function start(options: TestGatewayOptions) {
  const t = await testGateway(configFile(CONFIG), { env: ENV, server: inject('serverUrl'), ...options })
  onTestFinished(() => t.close())
  return t
}

test('a gateway in a test forwards each event once, of every tenant, and only the types of its routes', async () => {
  const { url, bodies } = await destination()
  const t = await start({ urls: { app: url } })
  await t.deliver('stripe', 'invoice.paid', { id: 'evt_1' }, { times: 3, concurrently: true, key: 'evt_1' })
  await t.deliver('acme/stripe', 'invoice.paid', {}, { times: 2, key: 'evt_2' })
  await t.deliver('stripe', 'customer.updated', {}, { key: 'evt_3' })
  await t.settled()
  const ids = bodies.map((body) => (JSON.parse(body) as { id: string }).id)
  expect(ids.sort()).toEqual(['evt_1', 'evt_2'])
})

test('a gateway in a test that dies before it answers has recorded the event, and forwards it', async () => {
  const { url, bodies } = await destination()
  const t = await start({ urls: { app: url } })
  t.crashAt('ack')
  const { statuses } = await t.deliver('stripe', 'invoice.paid')
  await t.settled()
  expect(statuses).toEqual([undefined, 200])
  // One more if the dead process had sent it: forwarding is at least once.
  expect(new Set(bodies).size).toBe(1)
})

test('urls that name an unknown destination are an error that lists the known ones', async () => {
  await expect(start({ urls: { ap: 'http://127.0.0.1:9' } })).rejects.toThrow(
    /CONFIG_INVALID: urls: .* has no destination "ap", only "app"/,
  )
})
