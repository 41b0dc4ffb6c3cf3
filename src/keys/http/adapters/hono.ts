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
 *   app.post('/orders', honoKeys({ store, tenant: (c) => c.get('user').id }), createOrder)
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
      // What a parser has read before us, Hono still has.
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
      // What was set before us Hono sets again on every response, so ours must be in it.
      const before = c.res.headers.get(EXPOSED)
      if (before !== null) c.header(EXPOSED, exposed(before, headerOf(reply, EXPOSED)))
      return responseOf(reply)
    }
    // All of it is in the reply; Hono would add what was there once more.
    c.res = undefined
    c.res = responseOf(reply)
  }
}
