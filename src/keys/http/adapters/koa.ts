import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { setKeyContext } from '../context.ts'
import { unprotected } from '../keyed.ts'
import { EXPOSED, grouped, type Reply, withExposedBefore } from '../message.ts'
import { answerNode, isKeyed } from '../node.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'
import { toTheEnd } from '../to-the-end.ts'

export { keyContext } from '../context.ts'

/**
 * Idempotency keys for Koa.
 *
 *   app.use(koaKeys({ store, tenant: (ctx) => ctx.state.user.id }))
 */
export function koaKeys(options: KeysOptions<Context>): Middleware {
  const checked = checkKeysOptions(options, 'koaKeys()')
  return (ctx, next) => {
    if (!isKeyed(checked, ctx.req)) {
      setKeyContext(ctx, unprotected())
      return next()
    }
    // Koa answers after its middleware, so this must be over before the answer is: what Koa writes is captured.
    return new Promise<void>((resolve, reject) => {
      void answerNode(checked, {
        request: ctx.req,
        response: ctx.res,
        origin: ctx,
        target: ctx.originalUrl,
        parsed: ctx.request,
        async handle() {
          try {
            await next()
            resolve()
          } catch (error) {
            reject(error)
            // Koa writes no error page behind what has begun, and so would never end it.
            if (ctx.res.headersSent) throw error
          } finally {
            answerAnyway(ctx)
          }
        },
        instead(reply) {
          answerWith(ctx, reply)
          resolve()
        },
        fail: reject,
      })
    })
  }
}

/** Koa does not answer a client that has gone; but the reply must be made, because it is kept. */
function answerAnyway(ctx: Context): void {
  Object.defineProperty(ctx.response, 'writable', { configurable: true, get: () => !ctx.res.writableEnded })
}

function answerWith(ctx: Context, reply: Reply): void {
  const body = toTheEnd(reply)
  ctx.status = reply.status
  ctx.body = body instanceof Uint8Array ? Buffer.from(body) : Readable.from(body)
  // Koa guesses one.
  ctx.remove('content-type')
  const headers = withExposedBefore(grouped(reply.headers), ctx.res.getHeader(EXPOSED))
  for (const [name, values] of headers) ctx.set(name, values)
}
