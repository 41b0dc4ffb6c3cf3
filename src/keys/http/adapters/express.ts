import type { Request, RequestHandler } from 'express'
import { setKeyContext } from '../context.ts'
import { unprotected } from '../keyed.ts'
import { answerNode, isKeyed } from '../node.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'

export { keyContext } from '../context.ts'

/**
 * Idempotency keys for Express, for all routes or for one.
 *
 * ```ts
 * app.post('/orders', expressKeys({ store, tenant: (request) => request.user.id }), createOrder)
 * ```
 */
export function expressKeys(options: KeysOptions<Request>): RequestHandler {
  const checked = checkKeysOptions(options, 'expressKeys()')
  return (request, response, next) => {
    if (!isKeyed(checked, request)) {
      setKeyContext(request, unprotected())
      return next()
    }
    void answerNode(checked, {
      request,
      response,
      // A router strips its mount path from `url`. The key belongs to the whole URL.
      target: request.originalUrl,
      handle: () => next(),
      fail: next,
    })
  }
}
