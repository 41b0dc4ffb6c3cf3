import type { Context, MiddlewareHandler } from 'hono'
import { setKeyContext } from '../context.ts'
import { answerFetch, replyOf, responseOf } from '../fetch.ts'
import { isKeyedMethod, unprotected } from '../keyed.ts'
import { EXPOSED, exposed, headerOf } from '../message.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'

export { keyContext } from '../context.ts'

/**
 * Idempotency keys for Hono.
 *
 * ```ts
 * app.post('/orders', honoKeys({ store, tenant: (c) => c.get('user').id }), createOrder)
 * ```
 */
export function honoKeys(options: KeysOptions<Context>): MiddlewareHandler {
  const checked = checkKeysOptions(options, 'honoKeys()')
  return async (c, next) => {
    if (!isKeyedMethod(c.req.method)) {
      setKeyContext(c, unprotected())
      return next()
    }
    let ran = false
    const reply = await answerFetch(checked, {
      // If a parser has already read the body, Hono still has it.
      request: c.req.raw.bodyUsed ? new Request(c.req.raw, { body: await c.req.arrayBuffer() }) : c.req.raw,
      origin: c,
      async handle(context, request) {
        ran = true
        setKeyContext(c, context)
        c.req.raw = request
        await next()
        return replyOf(c.res)
      },
    })
    if (!ran) {
      // Hono adds earlier headers to every response, so this header must include ours.
      const before = c.res.headers.get(EXPOSED)
      if (before !== null) c.header(EXPOSED, exposed(before, headerOf(reply, EXPOSED)))
      return responseOf(reply)
    }
    // The reply already contains all headers. Without this reset, Hono would add the old ones
    // again.
    c.res = undefined
    c.res = responseOf(reply)
  }
}
