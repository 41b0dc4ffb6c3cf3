import { redisKeys } from 'hookonce/keys'
import { stripe } from 'hookonce/sources'
import { testKeys } from 'hookonce/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createReceiver } from '../src/receiver.ts'
import { startMailService } from './mail-service.ts'
import { startRedis } from './redis.ts'

const stripeSecret = 'whsec_test'
let redis: Awaited<ReturnType<typeof startRedis>>
let store: ReturnType<typeof redisKeys>

beforeAll(async () => {
  redis = await startRedis()
  store = redisKeys({ url: redis.url })
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

/** A signed delivery of a new event. */
function paid() {
  const id = `evt_${crypto.randomUUID()}`
  const object = { id: 'in_1', customer_email: 'ann@example.com' }
  const created = Math.floor(Date.now() / 1_000)
  const body = JSON.stringify({ id, type: 'invoice.paid', created, data: { object } })
  return { path: '/webhooks/stripe', body, headers: stripe({ secret: stripeSecret }).sign({ body }) }
}

test('Stripe delivers five times, then five times at once: one mail', async () => {
  await using mail = await startMailService()
  await using k = await testKeys(
    (hosted) => createReceiver({ store: hosted, stripeSecret, mailUrl: mail.url }).node,
    { store },
  )
  const event = paid()
  const { replies } = await k.send({ ...event, times: 5 })
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  await k.send({ ...event, times: 5, concurrently: true })
  expect(mail.calls).toHaveLength(1)
})

test.each(['handler', 'reply'] as const)('the function dies at the %s: one mail', async (point) => {
  await using mail = await startMailService()
  await using k = await testKeys(
    (hosted) => createReceiver({ store: hosted, stripeSecret, mailUrl: mail.url, lockMs: 3_000 }).node,
    { store },
  )
  const event = paid()
  k.crashAt(point)
  // 409 until the lock of the dead function expires. Stripe retries, too.
  await vi.waitFor(async () => expect((await k.send(event)).reply.status).toBe(200), 30_000)
  expect(mail.sent.size).toBe(1)
  expect(mail.calls).toHaveLength(1)
})

test('the same receiver on Lambda and with the fetch signature: one mail', async () => {
  await using mail = await startMailService()
  const receiver = createReceiver({ store, stripeSecret, mailUrl: mail.url })
  const { path, body, headers } = paid()
  const http = { method: 'POST', path, sourceIp: '192.0.2.1' }
  const invocation = { version: '2.0', rawPath: path, headers, body, requestContext: { http } }
  expect(await receiver.lambda()(invocation)).toMatchObject({ statusCode: 200 })
  const reply = await receiver.fetch(
    new Request(`https://shop.example${path}`, { method: 'POST', headers, body }),
  )
  expect(reply.headers.get('idempotent-replayed')).toBe('true')
  expect(mail.calls).toHaveLength(1)
})

test('a delivery with a wrong signature is refused', async () => {
  await using mail = await startMailService()
  await using k = await testKeys(
    (hosted) => createReceiver({ store: hosted, stripeSecret, mailUrl: mail.url }).node,
    { store },
  )
  const { reply } = await k.send({ ...paid(), body: '{}' })
  expect(reply.status).toBe(401)
  expect(mail.calls).toEqual([])
})
