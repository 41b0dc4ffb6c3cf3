import { spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { RequestHandler } from 'express'
import type { MiddlewareHandler } from 'hono'
import type { Middleware } from 'koa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Hookonce, hookonce } from '../../src/index.ts'
import { inline } from '../../src/inline/index.ts'
import { memoryKeys } from '../../src/keys/index.ts'
import { custom, meta } from '../../src/sources/index.ts'
import { freshDatabase, makeDatabase } from '../support/database.ts'
import { receiving, silent } from '../support/receiver.ts'
import { SENDER, signed, testSource } from '../support/source.ts'
import {
  expressApp,
  fastifyApp,
  honoApp,
  koaApp,
  mountedKoaApp,
  type NestSetup,
  nestApp,
  type Start,
} from './apps.ts'
import { type Major, versionOf } from './majors.ts'

/*
 * Every way to mount hookonce in docs/reference/frameworks.md, with the body parsers of each
 * framework at the usual places.
 */

const MAJORS: readonly Major[] = ['previous', 'current']

const FRAMEWORKS: Readonly<Record<string, readonly [previous: number, current: number]>> = {
  express: [4, 5],
  fastify: [4, 5],
  hono: [3, 4],
  koa: [2, 3],
  '@nestjs/core': [11, 12],
}

test.each(Object.entries(FRAMEWORKS))('%s is of the majors %j', async (name, majors) => {
  expect(await Promise.all(MAJORS.map((major) => versionOf(major, name)))).toEqual(majors)
})

test('hookonce fits the types of the previous majors', () => {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const project = join(import.meta.dirname, 'previous')
  const tsc = spawnSync(process.execPath, [join(typescript, 'bin', 'tsc'), '-p', project], {
    encoding: 'utf8',
  })
  expect(tsc).toMatchObject({ status: 0, stdout: '' })
})

const keepBytes = {
  verify: (request: object, _response: object, bytes: Buffer) =>
    void Object.assign(request, { rawBody: bytes }),
}
const use: Parameters<typeof expressApp>[0] = (app, receiver) => app.use('/webhooks', receiver.express())
const register: Parameters<typeof fastifyApp>[0] = (app, receiver) =>
  app.register(receiver.fastify(), { prefix: '/webhooks' })
const readBy =
  (method: 'text' | 'json' | 'arrayBuffer' | 'blob'): MiddlewareHandler =>
  async (c, next) => {
    await c.req[method]()
    await next()
  }
const nest = (mounted: NestSetup['mounted'], platform: NestSetup['platform'], rawBody: boolean): Start =>
  nestApp({ mounted, platform, rawBody })

/** A parser that keeps only the parsed value. */
const forgetful: Middleware = async (ctx, next) => {
  Object.assign(ctx.request, { body: await json(ctx.req) })
  await next()
}

const works: Readonly<Record<string, Start>> = {
  'Express, above express.json()': expressApp(use),
  'Express, as a route': expressApp((app, receiver) => app.post('/webhooks/:source', receiver.express())),
  'Express, below express.json()': expressApp(use, (express) => express.json()),
  'Express, below express.json() and a middleware that waits': expressApp(
    (app, receiver) => {
      app.use((_request, _response, next) => void setImmediate(next))
      app.use('/webhooks', receiver.express())
    },
    (express) => express.json(),
  ),
  'Express, below express.text()': expressApp(use, (express) => express.text({ type: '*/*' })),
  'Express, below express.json({ verify })': expressApp(use, (express) => express.json(keepBytes)),
  'Express, below express.raw()': expressApp(use, (express) => express.raw({ type: '*/*' })),
  Fastify: fastifyApp(register),
  'Fastify with its own parser of JSON': fastifyApp((app, receiver) => {
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
      done(null, JSON.parse(String(body))),
    )
    return register(app, receiver)
  }),
  'Fastify, registered after a parser of everything': fastifyApp((app, receiver) => {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, {}))
    return register(app, receiver)
  }),
  'Fastify, by hooks.express() in a route': fastifyApp((app, receiver) =>
    app.post('/webhooks/:source', receiver.express()),
  ),
  Hono: honoApp(),
  'Hono, below a middleware that reads text': honoApp(readBy('text')),
  'Hono, below a middleware that reads bytes': honoApp(readBy('arrayBuffer')),
  'Hono, below a middleware that reads a blob': honoApp(readBy('blob')),
  'Hono, below a middleware that reads JSON': honoApp(readBy('json')),
  Koa: koaApp(),
  'Koa, below koa-bodyparser': koaApp('koa-bodyparser'),
  'Koa, below @koa/bodyparser': koaApp('@koa/bodyparser'),
  'Koa, below a parser that keeps no bytes': koaApp(forgetful),
  'Koa, by koa-mount': mountedKoaApp,
  'NestJS on Express, in main.ts': nest('main.ts', 'express', false),
  'NestJS on Express with rawBody, in main.ts': nest('main.ts', 'express', true),
  'NestJS on Express with rawBody, in a controller': nest('controller', 'express', true),
  'NestJS on Express with rawBody, as a middleware': nest('middleware', 'express', true),
  'NestJS on Express, in a controller': nest('controller', 'express', false),
  'NestJS on Express, as a middleware': nest('middleware', 'express', false),
  'NestJS on Fastify, in main.ts': nest('main.ts', 'fastify', false),
  'NestJS on Fastify with rawBody, in main.ts': nest('main.ts', 'fastify', true),
  'NestJS on Fastify, in a controller': nest('controller', 'fastify', false),
  'NestJS on Fastify with rawBody, in a controller': nest('controller', 'fastify', true),
  'NestJS on Fastify, as a middleware': nest('middleware', 'fastify', false),
}

interface Refused {
  readonly start: Start
  readonly says: string
  readonly only?: Major
  readonly contentType?: string
}

const refuses: Readonly<Record<string, Refused>> = {
  'Express, below a parser of a type that the usual parsers do not read': {
    start: expressApp(use, (express) => express.json({ type: '*/*' })),
    says: "app.use('/webhooks', hooks.express()) above the parsers",
    contentType: 'application/octet-stream',
  },
  'Hono 3, below a middleware that reads JSON of such a type': {
    start: honoApp(readBy('json')),
    says: 'c.req.raw.clone().json()',
    only: 'previous',
    contentType: 'application/octet-stream',
  },
  'Koa, below a parser of such a type': {
    start: koaApp(forgetful),
    says: 'ctx.request.rawBody',
    contentType: 'application/octet-stream',
  },
}

/**
 * With spaces, because JSON.stringify of the parsed body would drop them and break the signature.
 */
const EVENT = signed('{ "id": "evt_1",  "type": "a", "amount": 1.0, "name": "Ünal" }')
const deliver = (url: string, event = EVENT, contentType = 'application/json') =>
  fetch(`${url}/webhooks/test`, { ...event, headers: { ...event.headers, 'content-type': contentType } })

/** A sender of forms that names its events in headers. */
const formSource = custom({
  ...SENDER,
  body: 'form',
  event: { key: 'header:test-id', type: 'header:test-type' },
})

/** One receiver for all mounts that work. Each mount has its own event. */
let db: Awaited<ReturnType<typeof makeDatabase>>
let hooks: Hookonce<{ test: ReturnType<typeof testSource> }>
beforeAll(async () => {
  db = await makeDatabase()
  hooks = hookonce({ database: db.url, logger: silent, sources: { test: testSource() } })
  hooks.on('test', '*', () => undefined)
})
afterAll(async () => {
  await hooks.stop({ drainMs: 0 })
  await db.remove()
})

describe.each(MAJORS)('%s major', (major) => {
  test.each(Object.entries(works))('%s: records the bytes, once', async (name, start) => {
    const event = signed(EVENT.body.replace('evt_1', `${name}, ${major}`))
    const url = await start(major, hooks)
    expect([(await deliver(url, event)).status, (await deliver(url, event)).status]).toEqual([202, 200])
    const receipts = await db.rows<{ body: Buffer }>(
      'select body from hookonce.receipt where event_key = $1',
      [`${name}, ${major}`],
    )
    expect(receipts.map(({ body }) => String(body))).toEqual([event.body])
  })

  test.each(Object.entries(works))('%s: an inline receiver handles the bytes, once', async (_, start) => {
    const handled: string[] = []
    const receiver = inline(testSource(), (event) => handled.push(String(event.body)), {
      store: memoryKeys(),
    })
    const url = await start(major, receiver)
    expect([(await deliver(url)).status, (await deliver(url)).status]).toEqual([200, 200])
    expect(handled).toEqual([EVENT.body])
  })

  const refused = Object.entries(refuses).filter(([, { only = major }]) => only === major)
  test.each(refused)('%s: refuses, with the line to write', async (_, { start, says, contentType }) => {
    const db = await freshDatabase()
    const { hooks, stop } = receiving(db)
    const reply = await deliver(await start(major, hooks), EVENT, contentType)
    expect([reply.status, await reply.json()]).toEqual([500, { error: 'BODY_ALREADY_READ' }])
    await stop()
    const [rejection] = await db.rows<{ last_detail: string }>('select last_detail from hookonce.rejection')
    expect(rejection?.last_detail).toContain(says)
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
  })

  const largeJson = expressApp(use, (express) => express.json({ limit: '20mb' }))

  test('Express, below express.json(): bytes are kept no longer than a request', async () => {
    const db = await freshDatabase()
    const url = await largeJson(major, receiving(db).hooks)
    // Together they have more bytes than are kept for all requests.
    for (let sent = 0; sent < 10; sent++) {
      const event = signed({ id: `evt_${sent}`, type: 'a', padding: 'x'.repeat(4_000_000) })
      expect((await deliver(url, event)).status).toBe(202)
      const order = { ...event, headers: { 'content-type': 'application/json' } }
      expect((await fetch(`${url}/orders`, order)).status).toBe(200)
    }
  })

  test('Express, below express.json(): responses in progress do not take the room of a delivery', async () => {
    const db = await freshDatabase()
    const url = await streamingExpress()(major, receiving(db).hooks)
    await fillWithResponses(url)
    expect((await deliver(url)).status).toBe(202)
  })

  test('Express, below express.json(): a delivery whose bytes had to go is retried', async () => {
    const db = await freshDatabase()
    const { gate, hold } = holding()
    const url = await streamingExpress(hold)(major, receiving(db).hooks)
    const held = deliver(url)
    await once(gate, 'reached')
    await fillWithResponses(url)
    gate.emit('open')
    const reply = await held
    expect([reply.status, await reply.json()]).toEqual([503, { error: 'OVERLOADED' }])
    expect(reply.headers.get('retry-after')).not.toBeNull()
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
    expect((await deliver(url)).status).toBe(202)
  })

  test.each([
    ['a byte order mark', '\ufeffname=x', 202],
    // The signature matches. An event in another encoding cannot be read.
    ['bytes that are not UTF-8', Buffer.from('name=\xdc', 'latin1'), 400],
  ])('Koa, below koa-bodyparser, which keeps text: %s', async (_, text, status) => {
    const db = await freshDatabase()
    const { hooks, stop } = receiving(db, { sources: { test: formSource } })
    const url = await koaApp('koa-bodyparser')(major, hooks)
    const body = Buffer.from(text)
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'test-id': 'evt_1',
      'test-type': 'a',
    }
    const event = { method: 'POST', body, headers: formSource.sign({ body, headers }) }
    expect((await fetch(`${url}/webhooks/test`, event)).status).toBe(status)
    await stop()
    expect(await db.rows('select body from hookonce.receipt')).toEqual(status === 202 ? [{ body }] : [])
    expect(await db.rows('select code from hookonce.rejection')).toEqual(
      status === 400 ? [{ code: 'BODY_UNPARSABLE' }] : [],
    )
  })

  test('Express, below express.json(): a body that is too large to keep is refused', async () => {
    const db = await freshDatabase()
    const { hooks } = receiving(db, { options: { limits: { maxBodyBytes: 20_000_000 } } })
    const url = await largeJson(major, hooks)
    const event = signed({ id: 'evt_1', type: 'a', padding: 'x'.repeat(6_000_000) })
    // With a length, and as chunks.
    expect((await deliver(url, event)).status).toBe(500)
    const chunked = { ...event, body: new Blob([event.body]).stream(), duplex: 'half' }
    expect((await deliver(url, chunked as unknown as typeof event)).status).toBe(500)
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
    expect((await deliver(url)).status).toBe(202)
  })

  test('Fastify: the limits of hookonce hold, and the rest of the app keeps its parsers', async () => {
    const db = await freshDatabase()
    const { hooks } = receiving(db, { options: { limits: { maxBodyBytes: 3_000_000 } } })
    const url = await fastifyApp(register)(major, hooks)
    // Fastify's own limit is 1 MiB.
    const large = (bytes: number) => signed({ id: `evt_${bytes}`, type: 'a', padding: 'x'.repeat(bytes) })
    expect((await deliver(url, large(2_000_000))).status).toBe(202)
    expect((await deliver(url, large(3_000_000))).status).toBe(413)
    const order = { method: 'POST', body: '{"n":1}', headers: { 'content-type': 'application/json' } }
    expect(await (await fetch(`${url}/orders`, order)).json()).toEqual({ n: 1 })
  })

  test('Fastify: a body without a content type, and any other content type', async () => {
    const db = await freshDatabase()
    const { hooks } = receiving(db)
    const url = await fastifyApp(register)(major, hooks)
    const body = Buffer.from(EVENT.body)
    expect((await fetch(`${url}/webhooks/test`, { ...EVENT, body })).status).toBe(202)
    const form = { ...EVENT.headers, 'content-type': 'application/x-www-form-urlencoded' }
    expect((await fetch(`${url}/webhooks/test`, { ...EVENT, headers: form })).status).toBe(200)
  })

  test.each(
    Object.entries({
      Express: expressApp((app, { express }) => app.use('/one', express({ source: 'test' }))),
      Fastify: fastifyApp((app, { fastify }) =>
        app.register(fastify({ source: 'test' }), { prefix: '/one' }),
      ),
    }),
  )('%s: a path of its own for one source', async (_, start) => {
    const db = await freshDatabase()
    const url = await start(major, receiving(db).hooks)
    expect((await fetch(`${url}/one`, EVENT)).status).toBe(202)
    expect((await fetch(`${url}/one/`, EVENT)).status).toBe(200)
  })

  const all = { Express: expressApp(use), Fastify: fastifyApp(register), Hono: honoApp(), Koa: koaApp() }
  const everywhere = { ...all, NestJS: nest('main.ts', 'express', false) }
  test.each(Object.entries(everywhere))('%s: handshakes by GET, unknown sources', async (_, start) => {
    const db = await freshDatabase()
    const settings = { verifyToken: 'token' }
    const sources = { test: testSource(), meta: meta({ secret: 'x', settings }) }
    const url = await start(major, receiving(db, { sources }).hooks)
    const query = 'hub.mode=subscribe&hub.verify_token=token&hub.challenge=42'
    const handshake = await fetch(`${url}/webhooks/meta?${query}`)
    expect([handshake.status, await handshake.text()]).toEqual([200, '42'])
    expect((await fetch(`${url}/webhooks/nobody`, EVENT)).status).toBe(404)
    expect((await fetch(`${url}/webhooks/test`)).status).toBe(405)
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
  })

  test('Hono on Node passes the address of the sender on', async () => {
    const db = await freshDatabase()
    const limited = (allow: string[]) =>
      receiving(db, { options: { sourceLimits: { test: { allow } } } }).hooks
    expect((await deliver(await honoApp()(major, limited(['127.0.0.1'])))).status).toBe(202)
    expect((await deliver(await honoApp()(major, limited(['192.0.2.1'])))).status).toBe(403)
  })
})

/** Below express.json(): a route whose response stays open, and deliveries that `before` may hold. */
function streamingExpress(before: RequestHandler = (_request, _response, next) => next()): Start {
  return expressApp(
    (app, receiver) => {
      app.post('/stream', (_request, response) => void response.write('open'))
      app.use('/webhooks', before, receiver.express())
    },
    (express) => express.json({ limit: '20mb', strict: false }),
  )
}

/** Holds the first delivery between its parser and hookonce. */
function holding(): { gate: EventEmitter; hold: RequestHandler } {
  const gate = new EventEmitter()
  let isFirst = true
  return {
    gate,
    hold: (_request, _response, next) => {
      if (!isFirst) return next()
      isFirst = false
      gate.once('open', () => next()).emit('reached')
    },
  }
}

/** Open responses to requests whose bodies take all bytes that are kept: 16 times 4 MiB. */
async function fillWithResponses(url: string): Promise<void> {
  // A response that nobody refers to is collected, which closes its connection.
  const open: Response[] = []
  onTestFinished(async () => {
    for (const { body } of open) await body?.cancel()
  })
  const body = `"${'x'.repeat(4 * 1024 * 1024 - 2)}"`
  const headers = { 'content-type': 'application/json' }
  while (open.length < 16) open.push(await fetch(`${url}/stream`, { method: 'POST', body, headers }))
  expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]))
}

test('Hono 3, below a middleware that reads JSON: a delivery whose bytes had to go is retried', async () => {
  const gate = new EventEmitter()
  const reads: MiddlewareHandler = async (c, next) => {
    await c.req.json()
    if (c.req.path === '/stream')
      return c.body(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('open')) }))
    gate.emit('reached')
    await once(gate, 'open')
    return next()
  }
  const db = await freshDatabase()
  const url = await honoApp(reads)('previous', receiving(db).hooks)
  const held = deliver(url)
  await once(gate, 'reached')
  await fillWithResponses(url)
  gate.emit('open')
  const reply = await held
  expect([reply.status, await reply.json()]).toEqual([503, { error: 'OVERLOADED' }])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('hooks.fetch needs no `this`, and takes what platforms pass besides the request', async () => {
  const worker = { fetch: hooks.fetch as (request: Request, ...platform: unknown[]) => Promise<Response> }
  const event = signed({ id: 'by a worker', type: 'a' })
  const fetched = (...platform: unknown[]) =>
    worker.fetch.call(undefined, new Request('https://app.test/webhooks/test', event), ...platform)
  // Bindings of Cloudflare may have any name, even `source`.
  const answers = [
    await fetched({ source: 'production', DB: {} }, { waitUntil: () => undefined }),
    await fetched({ remoteAddr: {} }),
    await fetched(null),
  ]
  expect(answers.map(({ status }) => status)).toEqual([202, 200, 200])
})

test('Hono, below a middleware that reads a form', async () => {
  const form: MiddlewareHandler = async (c, next) => {
    await c.req.parseBody()
    await next()
  }
  const db = await freshDatabase()
  const url = await honoApp(form)('current', receiving(db).hooks)
  expect((await deliver(url, EVENT, 'application/x-www-form-urlencoded')).status).toBe(202)
})
