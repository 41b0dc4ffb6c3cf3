import { createServer, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import Fastify, { type FastifyContextConfig } from 'fastify'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import Koa from 'koa'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expressKeys } from '../../src/keys/http/adapters/express.ts'
import { fastifyKeys } from '../../src/keys/http/adapters/fastify.ts'
import { honoKeys } from '../../src/keys/http/adapters/hono.ts'
import { koaKeys } from '../../src/keys/http/adapters/koa.ts'
import { type KeyEvent, memoryKeys } from '../../src/keys/index.ts'
import { listening } from '../support/listening-server.ts'
import { until } from '../support/until.ts'

/* The behaviour that is specific to each framework. */

describe('options of a route', () => {
  const keys = { store: memoryKeys(), tenant: 'global' } as const
  const fastify = async (routeKeys: FastifyContextConfig['keys']) => {
    const app = Fastify()
    await app.register(fastifyKeys, keys)
    let runs = 0
    app.post('/orders', { config: { ...(routeKeys ? { keys: routeKeys } : {}) } }, async () => ({
      runs: ++runs,
    }))
    onTestFinished(() => app.close())
    return async () => {
      const { statusCode } = await app.inject({ method: 'POST', url: '/orders', payload: { n: 1 } })
      return statusCode
    }
  }

  test('Fastify: a route may differ from the rest, or have no keys', async () => {
    expect(await (await fastify(undefined))()).toBe(400)
    expect(await (await fastify({ required: 'off' }))()).toBe(200)
    expect(await (await fastify('off'))()).toBe(200)
  })

  test('Fastify: a mistake in them is reported when the route is created', async () => {
    const wrong = { lockMs: 0 }
    await expect(fastify(wrong)).rejects.toThrow(/CONFIG_INVALID.*config.keys of \/orders.*lockMs/)
  })
})

describe('a handler that fails after it began to write', () => {
  /** The client gets a broken reply, or none. The outcome is unknown, and nobody holds the key. */
  async function isOver(url: string, events: readonly KeyEvent[]): Promise<void> {
    const post = () =>
      fetch(url, { method: 'POST', body: '{}', headers: { 'idempotency-key': 'one' } })
        .then(async (reply) => [reply.status, await reply.text()] as const)
        .catch(() => ['broken', ''] as const)
    const [first] = await post()
    expect(['broken', 500]).toContain(first)
    await until('it has failed', () => events.some(({ what }) => what === 'failed'))
    const [status, body] = await post()
    expect([status, JSON.parse(body).type]).toEqual([409, 'urn:hookonce:problem:outcome-unknown'])
  }
  const events: KeyEvent[] = []
  const keys = () => ({
    store: memoryKeys(),
    tenant: 'global' as const,
    observe: (event: KeyEvent) => void events.push(event),
  })

  test('Express', async () => {
    events.length = 0
    const app = express().set('env', 'test')
    app.post('/', expressKeys(keys()), (_request, response) => {
      response.write('partial')
      throw new Error('boom')
    })
    await isOver(await listening(createServer(app)), events)
  })

  test('Koa', async () => {
    events.length = 0
    const app = new Koa()
    app.silent = true
    app.use(koaKeys(keys()))
    app.use((ctx) => {
      ctx.respond = false
      ctx.res.write('partial')
      throw new Error('boom')
    })
    await isOver(await listening(createServer(app.callback())), events)
  })

  test('Fastify', async () => {
    events.length = 0
    const app = Fastify()
    await app.register(fastifyKeys, keys())
    app.post('/', async (_request, reply) => {
      reply.raw.write('partial')
      throw new Error('boom')
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    await isOver(await listening(app.server), events)
  })
})

test('Fastify: a body that was refused as too large is not handled, whatever the app does to its replies', async () => {
  let runs = 0
  const app = Fastify({ bodyLimit: 1_000_000 })
  app.addHook('onSend', async (_request, _reply, payload) => payload)
  await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global', maxBodyBytes: 100 })
  app.post('/', async () => {
    runs++
    return {}
  })
  onTestFinished(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'idempotency-key': 'one', 'content-type': 'application/json' }
  const reply = await fetch(url, { method: 'POST', body: JSON.stringify('x'.repeat(1_000)), headers })
  expect([reply.status, runs]).toEqual([413, 0])
})

describe('what CORS middleware exposes before the keys stays exposed beside theirs, in replies, replays and refusals', () => {
  const EXPOSED = 'access-control-expose-headers'
  const keys = () => ({ store: memoryKeys(), tenant: 'global' }) as const

  async function isExposed(url: string): Promise<void> {
    const post = (body: string) => fetch(url, { method: 'POST', body, headers: { 'idempotency-key': 'one' } })
    const replies = [await post('1'), await post('1'), await post('2')]
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 422])
    const lists = replies.map(({ headers }) => headers.get(EXPOSED)?.split(/, */).sort())
    expect(lists).toEqual(Array(3).fill(['Idempotency-Key', 'Idempotent-Replayed', 'X-Total']))
  }

  test('Express', async () => {
    const app = express()
    app.use((_request, response, next) => {
      response.setHeader(EXPOSED, 'X-Total')
      next()
    })
    app.post('/', expressKeys(keys()), (_request, response) => void response.send('done'))
    await isExposed(await listening(createServer(app)))
  })

  test('Koa', async () => {
    const app = new Koa()
    app.use((ctx, next) => {
      ctx.set(EXPOSED, 'X-Total')
      return next()
    })
    app.use(koaKeys(keys()))
    app.use((ctx) => {
      ctx.body = 'done'
    })
    await isExposed(await listening(createServer(app.callback())))
  })

  test('Fastify', async () => {
    const app = Fastify()
    app.addHook('onRequest', async (_request, reply) => void reply.header(EXPOSED, 'X-Total'))
    await app.register(fastifyKeys, keys())
    app.post('/', async () => 'done')
    onTestFinished(() => app.close())
    await isExposed(await app.listen({ port: 0, host: '127.0.0.1' }))
  })

  test('Hono', async () => {
    const app = new Hono()
    app.use(cors({ origin: '*', exposeHeaders: ['X-Total'] }))
    app.post('/', honoKeys(keys()), (c) => c.text('done'))
    await isExposed(await listening(createAdaptorServer({ fetch: app.fetch }) as Server))
  })
})

test('Fastify: a replay of bytes without a type has no type either', async () => {
  const app = Fastify()
  await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global' })
  app.post('/', (_request, reply) => {
    reply.hijack()
    reply.raw.end('bytes')
  })
  onTestFinished(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const replies: unknown[] = []
  for (const _ of [1, 2]) {
    const reply = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
    replies.push([await reply.text(), reply.headers.get('content-type')])
  }
  expect(replies).toEqual(Array(2).fill(['bytes', null]))
})

test('Fastify: a replay without a body has no type', async () => {
  const app = Fastify()
  await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global' })
  app.post('/', (_request, reply) => reply.code(201).header('location', '/7').send())
  onTestFinished(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const types: (string | null)[] = []
  for (const _ of [1, 2]) {
    const reply = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
    types.push(reply.headers.get('content-type'))
  }
  expect(types).toEqual([null, null])
})

test('Express: a key that was used below one router is another request below another', async () => {
  const app = express()
  const orders = express.Router().post('/orders', expressKeys({ store: memoryKeys(), tenant: 'global' }))
  app.use(['/eu', '/us'], orders, (_request, response) => void response.send('done'))
  const origin = await listening(createServer(app))
  const post = async (path: string) => {
    const headers = { 'idempotency-key': 'one' }
    return (await fetch(`${origin}${path}`, { method: 'POST', headers })).status
  }
  expect([await post('/eu/orders'), await post('/eu/orders'), await post('/us/orders')]).toEqual([
    200, 200, 422,
  ])
})
