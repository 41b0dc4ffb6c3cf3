import { createServer } from 'node:http'
import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hookonce } from '../../../src/index.ts'
import { inline } from '../../../src/inline/index.ts'
import { memoryKeys } from '../../../src/keys/index.ts'
import { custom, revolut, stripe } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { listening } from '../../support/listening-server.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { silent } from '../../support/receiver.ts'
import { SENDER, signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * An inline receiver shares its front half with the receiver over a ledger: shadow mode, the
 * answers that a provider requires, and the diagnosis of refusals hold for both.
 */

const BODY = '{"id":"evt_1","type":"invoice.paid"}'
const genuine = stripe({ secret: 'right' })
const forged = stripe({ secret: 'wrong' })
const delivery = (sender: typeof genuine) =>
  new Request('https://shop.test/in', { method: 'POST', body: BODY, headers: sender.sign({ body: BODY }) })

test('in shadow mode a forged delivery is acknowledged, and does not affect the genuine one', async () => {
  const handled: string[] = []
  const source = stripe({ secret: 'right', mode: 'shadow' })
  const hooks = inline(source, (event) => void handled.push(event.key), { store: memoryKeys() })
  const answer = await hooks.fetch(delivery(forged))
  expect([answer.status, await answer.text(), handled]).toEqual([200, '{"status":"ignored"}', []])
  const second = await hooks.fetch(delivery(genuine))
  expect([second.status, await second.text(), handled]).toEqual([200, '{"status":"processed"}', ['evt_1']])
})

test.each([
  ['a body and a header', { acceptedStatus: 200, acceptedBody: 'OK', acceptedHeaders: { 'x-verify': 'v1' } }],
  ['204', { acceptedStatus: 204 }],
])('a provider that requires %s gets it for every accepted delivery', async (_, required) => {
  const { acceptedStatus: status, acceptedBody: body = '', acceptedHeaders } = { ...NOTHING, ...required }
  const wanted = [status, body, acceptedHeaders?.['x-verify'] ?? null]
  let finish: () => void = () => undefined
  const hold = new Promise<void>((resolve) => {
    finish = resolve
  })
  let runs = 0
  const hooks = inline(
    custom({ ...SENDER, ...required }),
    async ({ type }) => {
      runs++
      if (type === 'a.slow') await hold
    },
    { store: memoryKeys(), types: ['a.*'], inProgress: 'accept' },
  )
  const url = await listening(createServer(hooks.node))
  const read = async (response: Response) => [
    response.status,
    await response.text(),
    response.headers.get('x-verify'),
  ]
  const send = async (event: { id: string; type: string }) => [
    await read(await fetch(url, signed(event))),
    await read(await hooks.fetch(new Request(url, signed(event)))),
  ]
  // Through node:http and through fetch. The second delivery of each pair is a copy of the first.
  expect(await send({ id: 'evt_1', type: 'a.quick' })).toEqual([wanted, wanted])
  expect(await send({ id: 'evt_2', type: 'unwanted' })).toEqual([wanted, wanted])
  const slow = { id: 'evt_3', type: 'a.slow' }
  const first = fetch(url, signed(slow))
  await until('the first is handled', () => runs === 2)
  expect(await read(await fetch(url, signed(slow)))).toEqual(wanted)
  finish()
  expect(await read(await first)).toEqual(wanted)
})

const NOTHING: { acceptedBody?: string; acceptedHeaders?: Record<string, string> } = {}

test('a Response of the handler is sent unchanged, whatever the provider requires', async () => {
  const source = custom({ ...SENDER, acceptedStatus: 200, acceptedBody: 'OK' })
  const hooks = inline(source, () => new Response('mine', { status: 201 }), { store: memoryKeys() })
  const answer = await hooks.fetch(new Request('https://shop.test/', signed({ id: '1', type: 'a' })))
  expect([answer.status, await answer.text()]).toEqual([201, 'mine'])
})

test('hooks.inline() counts refusals in the log of rejections, with their diagnosis', async () => {
  const db = await freshDatabase()
  const lines: unknown[] = []
  const warn = ({ detail }: Record<string, unknown>): void => void lines.push(detail)
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    logger: { ...silent, warn },
    sources: { live: genuine, test: forged, shadowed: stripe({ secret: 'third', mode: 'shadow' }) },
  })
  onTestFinished(() => hooks.stop())
  const live = hooks.inline('live', () => undefined)
  const shadowed = hooks.inline('shadowed', () => undefined)
  hooks.on('test', '*', () => undefined)
  const answer = await live.fetch(delivery(forged))
  expect([answer.status, await answer.text()]).toEqual([401, '{"error":"SIGNATURE_MISMATCH"}'])
  expect((await shadowed.fetch(delivery(forged))).status).toBe(200)
  const rejections = () =>
    db.rows('select source, count::int, last_detail, diagnosis from hookonce.rejection order by source')
  await until('the log is written', async () => {
    await hooks.ledger('test')
    return (await rejections()).length === 2
  })
  await hooks.stop()
  const diagnosis = expect.stringContaining('the secret of the source "test"')
  expect(await rejections()).toEqual([
    { source: 'live', count: 1, last_detail: expect.any(String), diagnosis },
    { source: 'shadowed', count: 1, last_detail: expect.stringContaining('shadow mode'), diagnosis },
  ])
  expect(lines).toContainEqual(diagnosis)
  const metrics = await hooks.metrics()
  expect(metrics).toContain('hookonce_rejected_total{source="live",reason="SIGNATURE_MISMATCH"} 1')
  expect(metrics).toContain('hookonce_shadowed_total{source="shadowed",reason="SIGNATURE_MISMATCH"} 1')
})

test('without hookonce() a refusal and its diagnosis are warnings of the process, and are not sent', async () => {
  const warnings: string[] = []
  const listen = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const hooks = inline(genuine, () => undefined, { store: memoryKeys(), name: 'warned' })
  const body = JSON.stringify(JSON.parse(BODY), null, 2)
  const headers = genuine.sign({ body: BODY })
  const answer = await hooks.fetch(new Request('https://shop.test/in', { method: 'POST', body, headers }))
  expect([answer.status, await answer.text()]).toEqual([401, '{"error":"SIGNATURE_MISMATCH"}'])
  const of = (text: string) => warnings.filter((one) => one.includes('"warned"') && one.includes(text))
  await until('it is diagnosed', () => of('diagnosis of a refused delivery').length > 0)
  expect(of('SIGNATURE_MISMATCH')).toHaveLength(2)
})

test('a stamp from outside does not make a repeated delivery a new one', async () => {
  const source = revolut({ secret: 'wsk_secret' })
  let runs = 0
  const hooks = inline(source, () => void runs++, { store: memoryKeys() })
  const body = '{"event":"ORDER_PAYMENT_DECLINED","order_id":"o1"}'
  const headers = source.sign({ body })
  for (const stamp of ['first', 'second']) {
    const init = { method: 'POST', body, headers: { ...headers, 'hookonce-delivery': stamp } }
    expect((await hooks.fetch(new Request('https://shop.test/in', init))).status).toBe(200)
  }
  expect(runs).toBe(1)
})

test.each(['inline', 'ledger'])(
  'a request of app.inject() is answered and closes no connection (%s)',
  async (kind) => {
    const db = await freshDatabase()
    const source = custom(SENDER)
    const hooks = hookonce({
      database: db.url,
      ...manyLedgers(db),
      logger: silent,
      sources: { test: source },
    })
    hooks.on('test', '*', () => undefined)
    onTestFinished(() => hooks.stop({ drainMs: 0 }))
    const alone = inline(source, () => undefined, { store: memoryKeys() })
    const handle = kind === 'inline' ? alone.node : hooks.node()
    const app = Fastify()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.removeContentTypeParser(['application/json', 'text/plain'])
    app.post('/in/test', (request, reply) => {
      reply.hijack()
      return handle(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const payload = '{"id":"evt_1","type":"a"}'
    const answer = await app.inject({ method: 'POST', url: '/in/test', payload })
    expect(answer.statusCode).toBe(401)
    // A timer that closes the connection would throw here.
    vi.advanceTimersByTime(60_000)
  },
)

test("a warning about a stranger's request holds no control characters", async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
  onTestFinished(() => warned.mockRestore())
  const hooks = inline(genuine, () => undefined, { store: memoryKeys() })
  const headers = { 'content-encoding': '\u009b31mred' }
  const answer = await hooks.fetch(
    new Request('https://shop.test/in', { method: 'POST', body: BODY, headers }),
  )
  expect(answer.status).toBe(415)
  const texts = warned.mock.calls.map(([text]) => String(text))
  expect(texts).toEqual([expect.stringContaining('\\u009b31mred')])
})
