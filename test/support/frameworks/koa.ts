import { json } from 'node:stream/consumers'
import Koa, { type Middleware } from 'koa'
import compress from 'koa-compress'
import { keyContext, koaKeys } from '../../../src/keys/http/adapters/koa.ts'
import { type RunningApp, running, type Setup, told } from './framework.ts'

/** Like the body parsers for Koa. */
const parser: Middleware = async (ctx, next) => {
  const request = ctx.request as { body?: unknown }
  request.body ??= ctx.request.length ? await json(ctx.req) : undefined
  await next()
}

export async function startKoa({ keys, behaviour, ...setup }: Setup): Promise<RunningApp> {
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
  return running(app.listen(0, '127.0.0.1'))
}
