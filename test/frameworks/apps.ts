import 'reflect-metadata'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import type { INestApplication } from '@nestjs/common'
import type Express from 'express'
import type { RequestHandler } from 'express'
import type Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { MiddlewareHandler } from 'hono'
import type Koa from 'koa'
import type { Middleware } from 'koa'
import { onTestFinished } from 'vitest'
import type { Mounts, NodeHandler } from '../../src/mounts/contract.ts'
import { listening } from '../support/listening-server.ts'
import { load, loadParser, type Major } from './majors.ts'

/** Mounts a receiver in an app of a framework, at /webhooks. Returns the origin of the app. */
export type Start = (major: Major, receiver: Mounts) => Promise<string>

type ExpressModule = { default: typeof Express }
export type Parsers = typeof Express

/** `mount` gets the app after its first parser, if there is one. The app always has a parser. */
export function expressApp(
  mount: (app: Express.Application, receiver: Mounts) => unknown,
  first?: (parsers: Parsers) => RequestHandler,
): Start {
  return async (major, receiver) => {
    const { default: express } = await load<ExpressModule>(major, 'express')
    const app = express()
    if (first) app.use(first(express))
    mount(app, receiver)
    app.use(express.json())
    app.post('/orders', (request, response) => void response.json(request.body))
    return listening(app.listen(0, '127.0.0.1'))
  }
}

export function fastifyApp(mount: (app: FastifyInstance, receiver: Mounts) => unknown): Start {
  return async (major, receiver) => {
    const { default: fastify } = await load<{ default: typeof Fastify }>(major, 'fastify')
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    await mount(app, receiver)
    app.post('/orders', async (request) => request.body)
    return app.listen({ port: 0, host: '127.0.0.1' })
  }
}

export function honoApp(first?: MiddlewareHandler): Start {
  return async (major, receiver) => {
    const { Hono } = await load<typeof import('hono')>(major, 'hono')
    const app = new Hono()
    if (first) app.use('*', first)
    app.all('/webhooks/:source', receiver.hono())
    app.post('/orders', async (c) => c.json(await c.req.json()))
    return listening(createAdaptorServer({ fetch: app.fetch }) as Server)
  }
}

export type KoaParser = () => Middleware

/** Mounted by @koa/router, after a body parser. */
export function koaApp(parser?: string | Middleware): Start {
  return async (major, receiver) => {
    const { default: KoaApp } = await load<{ default: typeof Koa }>(major, 'koa')
    const { Router } = await loadParser<{ Router: RouterClass }>('@koa/router')
    const app = new KoaApp()
    app.silent = true
    if (typeof parser === 'function') app.use(parser)
    if (typeof parser === 'string') {
      const { bodyParser, default: ofDefault } = await loadParser<BodyParser>(parser)
      app.use((bodyParser ?? ofDefault)())
    }
    const router = new Router()
    router.all('/webhooks/:source', receiver.koa())
    app.use(router.routes())
    app.use((ctx) => {
      ctx.body = (ctx.request as { body?: unknown }).body ?? 'no parser'
    })
    return listening(app.listen(0, '127.0.0.1') as Server)
  }
}

/** Mounted by koa-mount, which cuts the path. */
export const mountedKoaApp: Start = async (major, receiver) => {
  const { default: KoaApp } = await load<{ default: typeof Koa }>(major, 'koa')
  const { default: mount } = await loadParser<{ default: Mount }>('koa-mount')
  const app = new KoaApp()
  app.use(mount('/webhooks/test', receiver.koa()))
  return listening(app.listen(0, '127.0.0.1') as Server)
}

type Mount = (prefix: string, middleware: Middleware) => Middleware
interface BodyParser {
  readonly bodyParser?: KoaParser
  readonly default: KoaParser
}
type RouterClass = new () => { all(path: string, middleware: Middleware): unknown; routes(): Middleware }

export interface NestSetup {
  readonly platform: 'express' | 'fastify'
  readonly rawBody: boolean
  /** Mounted before everything else in main.ts, in a controller, or as a middleware of a module. */
  readonly mounted: 'main.ts' | 'controller' | 'middleware'
}

interface Consumer {
  apply(middleware: NodeHandler): { forRoutes(path: string): unknown }
}

/**
 * Decorators are called as functions: the compiler of these tests does not support the kind that
 * Nest uses.
 */
export function nestApp({ platform, rawBody, mounted }: NestSetup): Start {
  return async (major, receiver) => {
    const common = await load<typeof import('@nestjs/common')>(major, '@nestjs/common')
    const { NestFactory } = await load<typeof import('@nestjs/core')>(major, '@nestjs/core')
    const handle = receiver.nest()

    class Webhooks {
      receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
        return handle(request, response)
      }
    }
    const { prototype } = Webhooks
    common.Req()(prototype, 'receive', 0)
    common.Res()(prototype, 'receive', 1)
    common.All(':source')(prototype, 'receive', Object.getOwnPropertyDescriptor(prototype, 'receive') ?? {})
    common.Controller('webhooks')(Webhooks)
    class App {
      configure(consumer: Consumer): void {
        if (mounted === 'middleware') consumer.apply(handle).forRoutes('webhooks/:source')
      }
    }
    common.Module({ controllers: mounted === 'controller' ? [Webhooks] : [] })(App)

    const options = { logger: false, rawBody, forceCloseConnections: true } as const
    const app: INestApplication =
      platform === 'express'
        ? await NestFactory.create(App, options)
        : await NestFactory.create(App, await fastifyAdapter(major), options)
    onTestFinished(() => app.close())
    if (mounted === 'main.ts') app.use('/webhooks', handle)
    await app.listen(0, '127.0.0.1')
    return app.getUrl()
  }
}

async function fastifyAdapter(major: Major) {
  const { FastifyAdapter } = await load<typeof import('@nestjs/platform-fastify')>(
    major,
    '@nestjs/platform-fastify',
  )
  return new FastifyAdapter({ forceCloseConnections: true })
}
