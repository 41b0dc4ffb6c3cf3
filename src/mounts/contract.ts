import type { NodeRequest, NodeResponse } from '../http/framework-request.ts'
import type { FastifyPlugin } from './fastify.ts'
import type { HonoHandler } from './hono.ts'
import type { KoaMiddleware } from './koa.ts'
import type { LambdaHandler } from './lambda.ts'
import type { NextRoute } from './next.ts'

export interface MountOptions<Name extends string = string> {
  /** The source of every delivery. Without it, the last segment of the path names the source. */
  readonly source?: Name
}

/** Answers a request of node:http, of Express, or of Fastify. It never rejects. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => Promise<void>

/**
 * One method per framework. Each returns a value that the framework mounts in one line. The types
 * are structural, so neither a framework nor its types are imported.
 */
export interface Mounts<Name extends string = string> {
  /** `app.use('/webhooks', hooks.express())`, above or below the body parsers. */
  express(options?: MountOptions<Name>): NodeHandler
  /** `app.register(hooks.fastify(), { prefix: '/webhooks' })`. */
  fastify(options?: MountOptions<Name>): FastifyPlugin
  /** `app.all('/webhooks/:source', hooks.hono())`. */
  hono(options?: MountOptions<Name>): HonoHandler
  /** `router.all('/webhooks/:source', hooks.koa())`. */
  koa(options?: MountOptions<Name>): KoaMiddleware
  /** `app.use('/webhooks', hooks.nest())` in `main.ts`, on Express and on Fastify. */
  nest(options?: MountOptions<Name>): NodeHandler
  /** `export const { GET, POST } = hooks.next()` in `app/webhooks/[source]/route.ts`. */
  next(options?: MountOptions<Name>): NextRoute
  /** `export const handler = hooks.lambda()`. */
  lambda(options?: MountOptions<Name>): LambdaHandler
}
