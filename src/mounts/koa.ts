import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Doors, Entry } from '../delivery/doors.ts'

/** The part of Koa's context that is used. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly request: object
  readonly originalUrl: string
  respond?: boolean | undefined
}

export type KoaMiddleware = (ctx: KoaContext) => Promise<void>

export function koaMiddleware(doors: Doors, entry: Entry): KoaMiddleware {
  return (ctx) => {
    const { req, res, originalUrl } = ctx
    // The door writes the response itself, so Koa must not respond.
    ctx.respond = false
    // koa-mount and routers cut `url`. Only Koa's own request keeps the whole URL.
    Object.assign(req, { originalUrl })
    // Body parsers for Koa leave bodies in its own request. koa-bodyparser keeps `rawBody` there.
    const { rawBody, body } = ctx.request as { rawBody?: unknown; body?: unknown }
    const request = { raw: req, ctx, rawBody, body }
    return doors.node(request, res, entry)
  }
}
