import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NEVER, type Observable } from 'rxjs'
import { setKeyContext } from '../context.ts'
import { unprotected } from '../keyed.ts'
import { answerNode, isKeyed, type NodeExchange } from '../node.ts'
import { checkKeysOptions, type KeysOptions } from '../options.ts'
import { sendByFastify } from './fastify.ts'

export { keyContext } from '../context.ts'

/**
 * Idempotency keys for NestJS, on Express or Fastify. It is an interceptor, so guards have already
 * authenticated the request. Create the application with `rawBody: true`, so that requests are
 * compared byte for byte.
 *
 * ```ts
 * @UseInterceptors(nestKeys({ store, tenant: (request) => request.user.id }))
 * class Orders {}
 * ```
 */
export function nestKeys<Request extends object>(options: KeysOptions<Request>): NestInterceptor {
  const checked = checkKeysOptions(options, 'nestKeys()')
  return {
    async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      if (context.getType() !== 'http') return next.handle()
      const http = context.switchToHttp()
      const origin = http.getRequest<Request>()
      const platform = platformOf(origin, http.getResponse())
      if (!isKeyed(checked, platform.request)) {
        setKeyContext(origin, unprotected())
        return next.handle()
      }
      return new Promise((resolve, reject) => {
        void answerNode(checked, {
          ...platform,
          origin,
          parsed: origin,
          handle: () => resolve(next.handle()),
          fail: reject,
          // If no handler ran, the request has been answered, and Nest must not answer it again.
        }).then(() => resolve(NEVER))
      })
    },
  }
}

type Platform = Pick<NodeExchange, 'request' | 'response' | 'target' | 'instead'>

function platformOf(request: object, response: object): Platform {
  if ('raw' in response && 'raw' in request) {
    const { raw, originalUrl } = request as FastifyRequest
    const reply = response as FastifyReply
    return {
      request: raw,
      response: reply.raw,
      target: originalUrl,
      instead: (instead) => sendByFastify(reply, instead),
    }
  }
  const { originalUrl, url } = request as IncomingMessage & { originalUrl?: string }
  return {
    request: request as IncomingMessage,
    response: response as ServerResponse,
    target: originalUrl ?? url ?? '/',
  }
}
