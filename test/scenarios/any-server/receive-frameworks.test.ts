import 'reflect-metadata'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { Controller, Module, Post, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express, { type RequestHandler } from 'express'
import Fastify, { type FastifyInstance } from 'fastify'
import Koa from 'koa'
import { expect, onTestFinished, test } from 'vitest'
import { type Inline, inline } from '../../../src/inline/index.ts'
import { memoryKeys } from '../../../src/keys/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { listening } from '../../support/listening-server.ts'
import { receiving } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'

/*
 * Signatures cover bytes. Frameworks read bodies before hookonce, and keep the bytes in different
 * properties.
 */

type Receive = Inline['node']

const byExpress =
  (parser?: RequestHandler) =>
  async (receive: Receive): Promise<string> => {
    const app = express()
    if (parser) app.use(parser)
    app.post('/webhooks/:source', receive)
    return listening(app.listen(0, '127.0.0.1'))
  }

const byFastify =
  (prepare: (app: FastifyInstance) => void = () => undefined) =>
  async (receive: Receive): Promise<string> => {
    const app = Fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    prepare(app)
    app.post('/webhooks/:source', receive)
    return app.listen({ port: 0, host: '127.0.0.1' })
  }

/**
 * Decorators are called as functions: the compiler of these tests does not support the kind that
 * Nest uses.
 */
const byNest =
  (platform: 'express' | 'fastify', rawBody: boolean) =>
  async (receive: Receive): Promise<string> => {
    class Webhooks {
      receive(request: IncomingMessage, response: Parameters<Receive>[1]): Promise<void> {
        return receive(request, response)
      }
    }
    class App {}
    Req()(Webhooks.prototype, 'receive', 0)
    Res()(Webhooks.prototype, 'receive', 1)
    Post(':source')(
      Webhooks.prototype,
      'receive',
      Object.getOwnPropertyDescriptor(Webhooks.prototype, 'receive') ?? {},
    )
    Controller('webhooks')(Webhooks)
    Module({ controllers: [Webhooks] })(App)
    const options = { logger: false, rawBody, forceCloseConnections: true } as const
    const app =
      platform === 'express'
        ? await NestFactory.create(App, options)
        : await NestFactory.create(App, new FastifyAdapter({ forceCloseConnections: true }), options)
    onTestFinished(() => app.close())
    await app.listen(0, '127.0.0.1')
    return app.getUrl()
  }

async function byKoa(receive: Receive): Promise<string> {
  const app = new Koa()
  app.use(async (ctx) => {
    ctx.respond = false
    await receive(ctx.req, ctx.res)
  })
  return listening(app.listen(0, '127.0.0.1') as Server)
}

/** A server that has read the body, and passes the request in the form of some platform. */
const after =
  (left: (bytes: Buffer) => object) =>
  async (receive: Receive): Promise<string> =>
    listening(
      createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        await receive(Object.assign(request, left(Buffer.concat(chunks))), response)
      }),
    )

const parsed = (bytes: Buffer): unknown => JSON.parse(String(bytes))

const works = {
  'Express without a parser': byExpress(),
  'express.raw()': byExpress(express.raw({ type: '*/*' })),
  'express.text()': byExpress(express.text({ type: '*/*' })),
  'express.json({ verify })': byExpress(
    express.json({ verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }) }),
  ),
  'Fastify with a parser of bytes': byFastify((app) =>
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    ),
  ),
  'Fastify with rawBody, as fastify-raw-body keeps it': byFastify((app) =>
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
      Object.assign(request, { rawBody: body })
      done(null, JSON.parse(String(body)))
    }),
  ),
  'NestJS over Express with rawBody': byNest('express', true),
  'NestJS over Fastify with rawBody': byNest('fastify', true),
  Koa: byKoa,
  'Firebase, with rawBody beside the parsed body': after((bytes) => ({
    rawBody: bytes,
    body: parsed(bytes),
  })),
  'AWS Lambda, with the bytes as body': after((bytes) => ({ body: new Uint8Array(bytes) })),
}

const refuses: Record<string, { start: (receive: Receive) => Promise<string>; says: string }> = {
  'express.json()': { start: byExpress(express.json()), says: 'express.json({ verify:' },
  'NestJS without rawBody': { start: byNest('express', false), says: '{ rawBody: true }' },
  'Fastify as it is': { start: byFastify(), says: "addContentTypeParser('application/json'" },
  'an API route of Next.js': {
    start: after((bytes) => ({ body: parsed(bytes), query: {}, cookies: {} })),
    says: 'bodyParser: false',
  },
  'something else': { start: after((bytes) => ({ body: parsed(bytes) })), says: 'request.rawBody = bytes' },
}

/**
 * With spaces, because JSON.stringify of the parsed body would drop them and break the signature.
 */
const EVENT = signed('{ "id": "evt_1",  "type": "a", "amount": 1.0 }')
const post = (url: string) =>
  fetch(`${url}/webhooks/test`, {
    ...EVENT,
    headers: { ...EVENT.headers, 'content-type': 'application/json' },
  })

test.each(Object.entries(works))('%s: the receiver verifies and records the bytes', async (_, start) => {
  const db = await freshDatabase()
  const { hooks } = receiving(db)
  const url = await start(hooks.node({ source: 'test' }))
  expect([(await post(url)).status, (await post(url)).status]).toEqual([202, 200])
  const [receipt] = await db.rows<{ body: Buffer }>('select body from hookonce.receipt')
  expect(String(receipt?.body)).toBe(EVENT.body)
})

test.each(Object.entries(works))('%s: the inline receiver verifies the bytes', async (_, start) => {
  const handled: string[] = []
  const { node } = inline(testSource(), (event) => handled.push(String(event.body)), { store: memoryKeys() })
  const url = await start(node)
  expect([(await post(url)).status, (await post(url)).status]).toEqual([200, 200])
  expect(handled).toEqual([EVENT.body])
})

test.each(Object.entries(refuses))('%s: refused, with the line to write', async (_, { start, says }) => {
  const db = await freshDatabase()
  const { hooks, stop } = receiving(db)
  const reply = await post(await start(hooks.node({ source: 'test' })))
  expect([reply.status, await reply.json()]).toEqual([500, { error: 'BODY_ALREADY_READ' }])
  await stop()
  const rejections = await db.rows('select code, last_detail from hookonce.rejection')
  expect(rejections).toEqual([{ code: 'BODY_ALREADY_READ', last_detail: expect.stringContaining(says) }])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)

  const { node } = inline(testSource(), () => undefined, { store: memoryKeys() })
  const inlined = await post(await start(node))
  expect([inlined.status, await inlined.json()]).toEqual([500, { error: 'BODY_ALREADY_READ' }])
})

test('kept bytes count against the limits', async () => {
  const db = await freshDatabase()
  const { hooks } = receiving(db, { options: { limits: { maxBodyBytes: 10 } } })
  const start = after((bytes) => ({ rawBody: bytes, headers: { ...EVENT.headers } }))
  expect((await post(await start(hooks.node({ source: 'test' })))).status).toBe(413)
})

test('a request of the fetch standard that was already read is refused, with the line to write', async () => {
  const { fetch: receive } = inline(testSource(), () => undefined, { store: memoryKeys() })
  const request = new Request('http://app.test/in/test', EVENT)
  await request.json()
  expect((await receive(request)).status).toBe(500)
})

test.each(['/in/test/', '/in/test//', '/in/test/?a=b'])('the path %s names the source test', async (path) => {
  const db = await freshDatabase()
  const { post, listen } = receiving(db)
  expect((await post(EVENT, path)).status).toBe(202)
  expect((await fetch(`${await listen()}${path}`, EVENT)).status).toBe(200)
})
