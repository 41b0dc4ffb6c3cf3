import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import Koa, { type Middleware } from 'koa'
import compress from 'koa-compress'
import { keyContext, koaKeys } from '../../../src/keys/http/adapters/koa.ts'
import { type Running, type Setup, told } from './framework.ts'

/** As the body parsers for Koa do. */
const parser: Middleware = async (ctx, next) => {
  const request = ctx.request as { body?: unknown }
  request.body ??= ctx.request.length ? await json(ctx.req) : undefined
  await next()
}

export async function startKoa({ keys, behaviour, ...setup }: Setup): Promise<Running> {
  const app = new Koa()
  app.silent = true
  if (setup.compression === 'on') app.use(compress({ threshold: 0, br: false }))
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      Object.assign(ctx, told(error))
    }
  })
  if (setup.parser === 'before') app.use(parser)
  app.use(koaKeys(keys))
  app.use(parser)
  app.use(async (ctx) => {
    const {
      status = 200,
      headers = {},
      body,
    } = await behaviour({
      body: (ctx.request as { body?: unknown }).body,
      context: keyContext(ctx),
    })
    ctx.status = status
    ctx.set(headers)
    ctx.body = body
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
