import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { setKeyContext } from '../context.ts'
import { unprotected } from '../keyed.ts'
import { EXPOSED, grouped, type Reply, withExposedBefore } from '../message.ts'
import { answerNode, isKeyed } from '../node.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'
import { readToEnd } from '../read-to-end.ts'

export { keyContext } from '../context.ts'

/**
 * Idempotency keys for Koa.
 *
 * ```ts
 * app.use(koaKeys({ store, tenant: (ctx) => ctx.state.user.id }))
 * ```
 */
export function koaKeys(options: KeysOptions<Context>): Middleware {
  const checked = checkKeysOptions(options, 'koaKeys()')
  return (ctx, next) => {
    if (!isKeyed(checked, ctx.req)) {
      setKeyContext(ctx, unprotected())
      return next()
    }
    // Koa writes the response after its middleware. This promise must therefore settle first, so
    // that the write can be captured.
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
            // Koa writes no error page after a response has begun, so it would never end the
            // response.
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

/**
 * Koa does not answer a client that hung up. The reply must still be made, because it is stored.
 */
function answerAnyway(ctx: Context): void {
  Object.defineProperty(ctx.response, 'writable', { configurable: true, get: () => !ctx.res.writableEnded })
}

function answerWith(ctx: Context, reply: Reply): void {
  const body = readToEnd(reply)
  ctx.status = reply.status
  ctx.body = body instanceof Uint8Array ? Buffer.from(body) : Readable.from(body)
  // Koa guesses a content type.
  ctx.remove('content-type')
  const headers = withExposedBefore(grouped(reply.headers), ctx.res.getHeader(EXPOSED))
  for (const [name, values] of headers) ctx.set(name, values)
}
