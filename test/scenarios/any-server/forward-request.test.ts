import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import type { Transformed } from '../../../src/forward/transform.ts'
import { gatewayConfig } from '../../../src/gateway/config/config.ts'
import { parseText } from '../../../src/gateway/config/read-file.ts'
import { gatewayHooks } from '../../../src/gateway/hooks.ts'
import { type Event, Permanent } from '../../../src/index.ts'
import { temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { destination, FORWARD_SECRET, forwarding, inState, jobs } from '../../support/forwarding.ts'
import { silent } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * The content of a forwarded request: headers, authentication, two signatures, a transformed body.
 */

const NEW_SECRET = `whsec_${Buffer.from('another secret, for the next months').toString('base64')}`
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const SPAN = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'

test('every request names its attempt, its source, its event and its trace', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 500 })
  const { post } = await forwarding(db, url)
  const sent = signed({ id: 'evt 1/é%', type: 'a' })
  const trace = { traceparent: TRACEPARENT, tracestate: 'vendor=1' }
  await post({ ...sent, headers: { ...sent.headers, ...trace } })
  await inState(db, 'processed')
  expect(got.map(({ headers }) => headers['hookonce-attempt'])).toEqual(['1', '2'])
  expect(got[1]?.headers).toMatchObject({
    ...trace,
    'user-agent': 'hookonce',
    'hookonce-source': 'test',
    'hookonce-event-key': 'evt%201/%C3%A9%25',
  })
  expect(decodeURIComponent(String(got[1]?.headers['hookonce-event-key']))).toBe('evt 1/é%')
})

test('a trace context that is not well-formed is not passed on', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url)
  const sent = signed({ id: 'evt_1', type: 'a' })
  await post({ ...sent, headers: { ...sent.headers, traceparent: 'nonsense', tracestate: 'vendor=1' } })
  await inState(db, 'processed')
  expect(got[0]?.headers).not.toHaveProperty('traceparent')
  expect(got[0]?.headers).not.toHaveProperty('tracestate')
})

test('with a tracer, the request continues the span of the attempt', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url, { options: { observers: [{ traceparent: () => SPAN }] } })
  const sent = signed({ id: 'evt_1', type: 'a' })
  await post({ ...sent, headers: { ...sent.headers, traceparent: TRACEPARENT } })
  await inState(db, 'processed')
  expect(got[0]?.headers).toMatchObject({ traceparent: SPAN })
})

test('during a rotation each request carries a signature of both secrets', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url, { secret: [NEW_SECRET, FORWARD_SECRET] })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  const { headers = {}, body } = got[0] ?? {}
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const signatures = [NEW_SECRET, FORWARD_SECRET].map((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
  })
  expect(headers['webhook-signature']).toBe(signatures.join(' '))
  for (const secret of [NEW_SECRET, FORWARD_SECRET])
    new Webhook(secret).verify(String(body), headers as Record<string, string>)
  expect(() =>
    new Webhook(`whsec_${btoa('somebody else')}`).verify(String(body), headers as Record<string, string>),
  ).toThrow()
})

test.each([
  { auth: { type: 'bearer', token: 'tok' }, sends: { authorization: 'Bearer tok' } },
  {
    auth: { type: 'basic', username: 'me', password: 'pä:ss' },
    sends: { authorization: `Basic ${Buffer.from('me:pä:ss').toString('base64')}` },
  },
  { auth: { type: 'header', name: 'x-provider-key', value: 'k' }, sends: { 'x-provider-key': 'k' } },
] as const)('a destination is authenticated by $auth.type', async ({ auth, sends }) => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url, { auth })
  const sent = signed({ id: 'evt_1', type: 'a' })
  await post({ ...sent, headers: { ...sent.headers, 'x-provider-key': 'theirs' } })
  await inState(db, 'processed')
  expect(got[0]?.headers).toMatchObject(sends)
  if (auth.type === 'header') expect(got[0]?.headers).toMatchObject({ 'original-x-provider-key': 'theirs' })
})

test('a transform changes body, headers and URL, is signed, and leaves the original alone', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const elsewhere = await destination()
  const { post, hooks } = await forwarding(db, url, {
    transform(event) {
      const payload = event.payload as { n: number }
      payload.n += 1
      event.body.fill(0)
      if (event.type === 'dropped') return undefined
      if (event.type === 'text') return { body: 'a=1', headers: { 'Content-Type': 'text/x-test' } }
      return { body: { was: payload }, headers: { 'x-tenant': 't1' }, url: elsewhere.url }
    },
  })
  const sent = signed({ id: 'evt_1', type: 'a', n: 1 })
  const receipt = await post(sent)
  await inState(db, 'processed')
  const [first] = elsewhere.got
  expect(first?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-tenant': 't1',
    'webhook-id': receipt,
  })
  const body = String(first?.body)
  expect(new Webhook(FORWARD_SECRET).verify(body, first?.headers as Record<string, string>)).toEqual({
    was: { id: 'evt_1', type: 'a', n: 2 },
  })
  expect(await db.rows(`select convert_from(body, 'UTF8') as body from hookonce.receipt`)).toEqual([
    { body: sent.body },
  ])
  // A replay reads the stored original, so it sends the same request.
  await hooks.replay(receipt)
  await until('it is sent again', () => elsewhere.got.length === 2)
  expect(String(elsewhere.got[1]?.body)).toBe(body)

  await post(signed({ id: 'evt_2', type: 'dropped', n: 1 }))
  await post(signed({ id: 'evt_3', type: 'text', n: 1 }))
  await inState(db, 'processed', 3)
  expect(got).toMatchObject([{ headers: { 'content-type': 'text/x-test' } }])
  expect(String(got[0]?.body)).toBe('a=1')
  expect(elsewhere.got).toHaveLength(2)
})

test('changes that a transform makes to its event reach no other destination', async () => {
  const db = await freshDatabase()
  const [first, second] = [await destination(), await destination()]
  const common = { secret: FORWARD_SECRET, types: '*', allowPrivate: ['127.0.0.1'] }
  const transform = (event: Event): Transformed => {
    event.body.fill(0)
    Object.assign(event.payload as object, { id: 'changed' })
    Object.assign(event.headers, { 'content-type': 'changed' })
    return {}
  }
  const hooks = gatewayHooks(
    {
      sources: { test: testSource() },
      destinations: [
        { ...common, name: 'first', url: first.url, transform },
        { ...common, name: 'second', url: second.url, transform: ({ payload }) => ({ body: payload }) },
      ],
    },
    { database: db.url, logger: silent, pollMs: 20 },
  )
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  await hooks.start()
  const sent = signed({ id: 'evt_1', type: 'a' })
  await hooks.fetch(new Request('http://app.test/in/test', sent))
  await inState(db, 'processed', 2)
  expect([String(first.got[0]?.body), String(second.got[0]?.body)]).toEqual([sent.body, sent.body])
  expect(first.got[0]?.headers['content-type']).not.toBe('changed')
})

test.each([
  {
    name: 'throws',
    transform: () => {
      throw new Error('no such field')
    },
    says: 'TRANSFORM_FAILED: Error: no such field',
  },
  { name: 'never ends', transform: () => new Promise<never>(() => undefined), says: 'within 100 ms' },
  { name: 'returns a number', transform: () => 7 as never, says: 'TRANSFORM_FAILED' },
  {
    name: 'sets our headers',
    transform: () => ({ headers: { 'webhook-id': 'x' } }),
    says: 'sets this header',
  },
  {
    name: 'breaks a header',
    transform: () => ({ headers: { 'x-a': 'a\r\nb: c' } }),
    says: 'headers do not allow',
  },
  {
    name: 'names no URL',
    transform: () => ({ url: 'file:///etc/passwd' }),
    says: 'must be an http or https',
  },
  { name: 'leads inside', transform: () => ({ url: 'http://169.254.169.254/' }), says: 'ADDRESS_REFUSED' },
])('a transform that $name is a failed attempt', async ({ transform, says }) => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const timeoutMs = says.includes('100 ms') ? 100 : 20_000
  const { post } = await forwarding(db, url, { transform, timeoutMs, retry: { maxAttempts: 1 } })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect((await jobs(db))[0]?.reason).toContain(says)
  expect(got).toEqual([])
})

test('a transform that throws Permanent ends the retries', async () => {
  const db = await freshDatabase()
  const { url } = await destination()
  const transform = (): never => {
    throw new Permanent('this event can never be sent')
  }
  const { post } = await forwarding(db, url, { transform })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect(await jobs(db)).toMatchObject([{ attempt: 1, reason: expect.stringContaining('permanent') }])
})

test('the transform of a configuration file is a module beside it', async () => {
  const dir = temporaryDirectory()
  writeFileSync(join(dir, 'good.mjs'), 'export default (event) => ({ body: event.type })')
  writeFileSync(join(dir, 'bad.mjs'), 'export const transform = () => undefined')
  const config = (transform: string) => {
    const destinations = { app: { url: 'https://app.example', secret: 'env:SECRET', transform } }
    const text = JSON.stringify({ sources: {}, destinations })
    return gatewayConfig(parseText(join(dir, 'hookonce.json'), text, 'JSON'), { SECRET: FORWARD_SECRET })
  }
  const { destinations } = await config('good.mjs')
  expect(destinations[0]?.transform).toEqual({ file: join(dir, 'good.mjs'), path: [] })
  await expect(config('bad.mjs')).rejects.toThrow('has no function as its default export')
  await expect(config('./none.mjs')).rejects.toThrow(
    /destinations\.app\.transform: .*none\.mjs cannot be loaded/,
  )
})

test('events with the same order key are forwarded one after the other', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 500 }, { status: 500 })
  const { post } = await forwarding(db, url, { orderBy: 'json:customer', types: 'a' })
  await post(signed({ id: 'evt_1', type: 'a', customer: 'c1' }))
  await post(signed({ id: 'evt_2', type: 'a', customer: 'c1' }))
  await inState(db, 'processed', 2)
  const sent = got.map(({ body }) => (JSON.parse(String(body)) as { id: string }).id)
  expect(sent).toEqual(['evt_1', 'evt_1', 'evt_1', 'evt_2'])
})

test('a redacted event has no signature of its original body, in the ledger and at the destination', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url, { source: testSource({ redact: ['$.card'] }) })
  const sent = signed({ id: 'evt_1', type: 'a', card: '4242' })
  await post({ ...sent, headers: { ...sent.headers, 'content-digest': 'sha-256=:abc=:' } })
  await inState(db, 'processed')
  const signature = String(sent.headers['test-signature'])
  expect(signature).toHaveLength(64)
  const [stored] = await db.rows<{ headers: string }>('select headers from hookonce.receipt')
  expect(stored?.headers).not.toContain(signature)
  expect(stored?.headers).not.toContain('abc')
  expect(got[0]?.headers['test-signature']).toBe('[redacted]')
  expect(got[0]?.body.toString()).toContain('"card":"[redacted]"')
})
