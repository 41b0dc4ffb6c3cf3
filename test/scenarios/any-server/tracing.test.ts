import { createServer, type IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type App, startApp } from '../../support/app.ts'
import { startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { configFile, configTo, deliver, ENV, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { SENDER, signed, type TestPayload } from '../../support/source.ts'
import { startTalking } from '../../support/talking-process.ts'
import { type ExportedSpan, telemetryFile } from '../../support/telemetry-file.ts'
import { until } from '../../support/until.ts'

/* One event passes several processes, each with the real SDK of OpenTelemetry. */

const SCRIPT = fileURLToPath(new URL('../../support/traced-app.mjs', import.meta.url))
const SENT = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
const TRACEPARENT = `00-${SENT.traceId}-${SENT.spanId}-01`
const [SERVER, CLIENT, PRODUCER, CONSUMER] = [1, 2, 3, 4]
const MESSAGE_SECRET = `whsec_${Buffer.from('a secret that signs the messages').toString('base64')}`

/** An app that accepts every request. */
async function recorder(): Promise<{ url: string; got: IncomingHttpHeaders[] }> {
  const got: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    request.resume()
    got.push(request.headers)
    response.writeHead(204).end()
  })
  return { url: await listening(server), got }
}

async function send(app: App, payload: TestPayload, headers: Record<string, string> = {}): Promise<void> {
  const request = signed(payload)
  const sent = await fetch(app.url, { ...request, headers: { ...request.headers, ...headers } })
  expect(sent.status).toBe(202)
}

/** The only span of this name. */
function named(spans: readonly ExportedSpan[], name: string): ExportedSpan {
  const found = spans.filter((span) => span.name === name)
  expect(found.map((span) => span.name)).toEqual([name])
  return found[0] as ExportedSpan
}

async function jobsIn(db: TestDatabase, state: string, count: number): Promise<void> {
  const found = `select count(*) from hookonce.job where state = '${state}'`
  await until(`${count} ${state}`, async () => (await db.number(found)) === count)
}

test('one trace follows an event over three processes, to the message that it caused', async () => {
  const db = await freshDatabase()
  const { url, got } = await recorder()
  const { env, spans } = telemetryFile()
  const start = (role: string, more: object = {}) =>
    startApp(db, { script: SCRIPT, env, more: { role, ...more } })
  const receiver = await start('receive')
  await send(receiver, { id: 'evt_1', type: 'paid' }, { traceparent: TRACEPARENT, tracestate: 'vendor=1' })
  const worker = await start('work')
  await jobsIn(db, 'processed', 1)
  const relay = await start('relay', { publishTo: { url, secret: MESSAGE_SECRET } })
  await until('the message is published', () => got.length === 1)
  const all = await until('all spans are exported', () => (spans().length >= 6 ? spans() : undefined))

  const [delivery, attempt] = [named(all, 'receive test'), named(all, 'process test')]
  const [step, effect] = [named(all, 'hookonce.step'), named(all, 'hookonce.effect')]
  const [transaction, message] = [named(all, 'hookonce.transaction'), named(all, 'publish told')]
  expect(new Set(all.map(({ traceId }) => traceId))).toEqual(new Set([delivery.traceId]))
  // A stranger's trace is linked, not continued.
  expect(delivery.traceId).not.toBe(SENT.traceId)
  expect(delivery).toMatchObject({ kind: SERVER, links: [SENT.traceId], pid: receiver.pid })
  expect(delivery.parent).toBeUndefined()
  expect(attempt).toMatchObject({ kind: CONSUMER, parent: delivery.spanId, pid: worker.pid })
  for (const inside of [step, effect, transaction]) expect(inside.parent).toBe(attempt.spanId)
  expect(message).toMatchObject({ kind: PRODUCER, parent: transaction.spanId, pid: relay.pid })
  expect(got[0]?.traceparent).toBe(`00-${message.traceId}-${message.spanId}-01`)
  // The header came from the sender, and belongs to another trace.
  expect(got[0]).not.toHaveProperty('tracestate')

  const [{ id } = { id: '' }] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  expect(delivery.attributes).toMatchObject({
    'messaging.operation.name': 'receive',
    'messaging.destination.name': 'test',
    'http.response.status_code': 202,
    'hookonce.receipt_id': id,
    'hookonce.event_key': 'evt_1',
    'hookonce.event_type': 'paid',
  })
  expect(attempt.attributes).toMatchObject({
    'messaging.consumer.group.name': 'app',
    'messaging.message.id': id,
    'hookonce.attempt': 1,
    'hookonce.outcome': 'processed',
    'hookonce.event_key': 'evt_1',
  })
  expect(effect.attributes).toMatchObject({ 'hookonce.effect.key': 'mail:evt_1' })
  const logged = () =>
    [...receiver.said, ...worker.said, ...relay.said].filter(({ level }) => level === 'info')
  const traced = await until('each process has logged its part', () => {
    const lines = logged().filter(({ message: text }) =>
      /^(recorded|processed|message published)$/.test(String(text)),
    )
    return lines.length >= 3 ? lines : undefined
  })
  expect(traced.map((line) => [line.receipt_id, line.trace_id])).toEqual(
    Array.from({ length: 3 }, () => [id, delivery.traceId]),
  )
})

test('a trusted sender is the parent, and its tracestate reaches the message', async () => {
  const db = await freshDatabase()
  const { url, got } = await recorder()
  const { env, spans } = telemetryFile()
  const openTelemetry = { sender: 'parent', names: 'hookonce' }
  const start = (role: string, more: object = {}) =>
    startApp(db, { script: SCRIPT, env, more: { role, openTelemetry, ...more } })
  const receiver = await start('receive')
  await send(receiver, { id: 'evt_1', type: 'paid' }, { traceparent: TRACEPARENT, tracestate: 'vendor=1' })
  await start('work', { publishTo: { url, secret: MESSAGE_SECRET } })
  await until('the message is published', () => got.length === 1)
  const all = await until('all spans are exported', () => (spans().length >= 6 ? spans() : undefined))
  expect(new Set(all.map(({ traceId }) => traceId))).toEqual(new Set([SENT.traceId]))
  expect(named(all, 'hookonce.delivery').parent).toBe(SENT.spanId)
  expect(got[0]).toMatchObject({ tracestate: 'vendor=1' })
  const attributes = all.flatMap((span) => Object.keys(span.attributes))
  expect(attributes.filter((name) => !name.startsWith('hookonce.'))).toEqual([])
})

test('in an instrumented server, a delivery is inside the span of its request', async () => {
  const db = await freshDatabase()
  const { env, spans } = telemetryFile()
  const openTelemetry = { sender: 'parent' }
  const more = { role: 'receive', instrumented: true, openTelemetry }
  const receiver = await startApp(db, { script: SCRIPT, env, more })
  // Sent at the same time, so that they share commits and continue in each other's callbacks.
  await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      send(receiver, { id: `evt_${n}`, type: 'paid' }, { traceparent: TRACEPARENT }),
    ),
  )
  const all = await until('all are exported', () => (spans().length === 16 ? spans() : undefined))
  const requests = new Map(all.filter(({ name }) => name === 'request').map((span) => [span.spanId, span]))
  const deliveries = all.filter(({ name }) => name === 'receive test')
  expect(new Set(deliveries.map(({ parent }) => parent))).toEqual(new Set(requests.keys()))
  for (const { parent = '', traceId, links } of deliveries) {
    expect(traceId).toBe(requests.get(parent)?.traceId)
    expect(links).toEqual([SENT.traceId])
  }
  const stored = await db.rows<{ headers: string }>('select headers from hookonce.receipt')
  const recorded = stored.map(({ headers }) => /^traceparent: 00-(\w+)-(\w+)-01$/m.exec(headers)?.[2])
  expect(new Set(recorded)).toEqual(new Set(deliveries.map(({ spanId }) => spanId)))
})

test('spans show whether and where an attempt failed, and neither metrics nor spans hold the message', async () => {
  const db = await freshDatabase()
  const { env, spans, metrics, text } = telemetryFile()
  const receiver = await startApp(db, { script: SCRIPT, env, more: { role: 'receive' } })
  await send(receiver, { id: 'evt_1', type: 'fail', secret: 'card 4242' })
  await startApp(db, { script: SCRIPT, env, more: { role: 'work' } })
  const attempt = await until('the attempt is exported', () =>
    spans().find(({ name }) => name === 'process test'),
  )
  expect(attempt).toMatchObject({
    status: { code: 2 },
    attributes: { 'hookonce.outcome': 'failed', 'error.type': 'Permanent' },
    events: [
      { name: 'exception', attributes: { 'exception.stacktrace': expect.stringContaining('traced-app') } },
    ],
  })
  const measured = await until('metrics are exported', () => {
    const found = metrics()
    return found.some(({ metric }) => metric === 'messaging.process.duration') &&
      found.some(({ metric }) => metric === 'hookonce.deliveries')
      ? found
      : undefined
  })
  const labels = new Set(measured.flatMap(({ points }) => points.flatMap((point) => Object.keys(point))))
  expect([...labels].filter((name) => /id$|key$|type$/.test(name) && !name.endsWith('.type'))).toEqual([])
  const values = measured.flatMap(({ points }) => points.flatMap((point) => Object.values(point)))
  expect(values).not.toContain('evt_1')
  expect(text()).not.toContain('4242')
})

test('an event that is handled inside its request has one span, in which the handler runs', async () => {
  const db = await freshDatabase()
  const { env, spans, text } = telemetryFile()
  const app = await startApp(db, { script: SCRIPT, env, more: { role: 'inline' } })
  const post = async (payload: TestPayload): Promise<number> => {
    const request = signed(payload)
    const headers = { ...request.headers, traceparent: TRACEPARENT }
    return (await fetch(app.url, { ...request, headers })).status
  }
  expect(await post({ id: 'evt_1', type: 'paid' })).toBe(200)
  expect(await post({ id: 'evt_1', type: 'paid' })).toBe(200)
  expect(await post({ id: 'evt_2', type: 'fail', secret: 'card 4242' })).toBe(500)
  const all = await until('all spans are exported', () => (spans().length >= 5 ? spans() : undefined))
  const deliveries = all.filter(({ name }) => name === 'receive test')
  expect(deliveries.map(({ kind, links, attributes }) => [kind, links, attributes])).toEqual(
    [
      ['evt_1', 200],
      ['evt_1', 200],
      ['evt_2', 500],
    ].map(([key, status]) => [
      SERVER,
      [SENT.traceId],
      expect.objectContaining({ 'hookonce.event_key': key, 'http.response.status_code': status }),
    ]),
  )
  const [first, , failed] = deliveries
  // The repeat did not run the handler.
  expect(all.filter(({ name }) => name === 'work').map(({ parent }) => parent)).toEqual([
    first?.spanId,
    failed?.spanId,
  ])
  expect(failed?.status.code).toBe(2)
  expect(text()).not.toContain('4242')
})

test('a gateway traces without further code, and its destination continues the trace of the request', async () => {
  const db = await freshDatabase()
  const { url, got } = await recorder()
  const { preloadEnv, spans } = telemetryFile()
  const env = { DATABASE_URL: db.url, ...ENV, ...preloadEnv }
  const config = configFile(configTo(`${url}/hooks?token=of-the-destination`))
  const receiving = startCli(serveArgs(config, '--receive-only'), env)
  const { port } = await receiving.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  const working = startCli(serveArgs(config, '--work-only'), env)
  await until('it is forwarded', () => got.length === 1)
  const all = await until('all spans are exported', () => (spans().length >= 3 ? spans() : undefined))
  const [delivery, attempt, request] = [
    named(all, 'receive stripe'),
    named(all, 'process stripe'),
    named(all, 'POST'),
  ]
  expect(delivery.pid).toBe(receiving.child.pid)
  expect(attempt).toMatchObject({
    traceId: delivery.traceId,
    parent: delivery.spanId,
    pid: working.child.pid,
  })
  expect(request).toMatchObject({ traceId: delivery.traceId, parent: attempt.spanId, kind: CLIENT })
  expect(request.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.response.status_code': 204,
    'server.address': '127.0.0.1',
    'hookonce.destination': 'app',
  })
  expect(JSON.stringify(all)).not.toContain('of-the-destination')
  expect(got[0]?.traceparent).toBe(`00-${request.traceId}-${request.spanId}-01`)
})

test('without an SDK nothing is traced and nothing is stored for it; without the package it works too', async () => {
  const db = await freshDatabase()
  const without = { DATABASE_URL: db.url, ...ENV }
  const hidden = fileURLToPath(new URL('../../support/without-opentelemetry.cjs', import.meta.url))
  const { url, got } = await recorder()
  const config = configFile(configTo(url))
  for (const [n, env] of [without, { ...without, NODE_OPTIONS: `--require ${hidden}` }].entries()) {
    const gateway = startCli(serveArgs(config), env)
    const { port } = await gateway.line<{ port: number }>('port')
    expect(await deliver(port, `evt_${n}`)).toBe(202)
    await until('it is forwarded', () => got.length === n + 1)
    expect(await gateway.stop()).toBe(0)
    expect(gateway.output.stderr).not.toContain('trace_id')
  }
  expect(got.filter((headers) => 'traceparent' in headers)).toEqual([])
  expect(await db.number(`select count(*) from hookonce.receipt where headers like '%trace%'`)).toBe(0)
})

test('an SDK that is started too late is reported', async () => {
  const script = fileURLToPath(new URL('../../support/late-tracer.mjs', import.meta.url))
  const { env } = telemetryFile()
  const late = startTalking(script, { config: { sender: SENDER }, env })
  expect((await late.says('warning')).warning).toContain('start the SDK first')
})
