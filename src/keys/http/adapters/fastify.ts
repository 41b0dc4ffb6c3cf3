import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { setKeyContext } from '../context.ts'
import { keyOf, refuseBody, repeating, unprotected } from '../keyed.ts'
import { EXPOSED, grouped, type Reply, withExposedBefore, withHeaders } from '../message.ts'
import { answerNode, isKeyed, keyHeadersOf } from '../node.ts'
import { type CheckedKeysOptions, checkKeysOptions, type KeysOptions } from '../options.ts'
import { type KeyedBodyLimits, readBody, readStreamBody } from '../read-body.ts'
import { toTheEnd } from '../to-the-end.ts'

export { keyContext } from '../context.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What is other on this route than on the rest; `off`: no keys. */
    keys?: 'off' | Partial<KeysOptions<FastifyRequest>>
  }
}

/**
 * Idempotency keys for Fastify, for all routes of the scope it is registered in. A route may
 * differ: `config: { keys }`.
 *
 *   await app.register(fastifyKeys, { store, tenant: (request) => request.user.id })
 */
export const fastifyKeys: FastifyPluginAsync<KeysOptions<FastifyRequest>> = async (app, options) => {
  const forAll = checkKeysOptions(options, 'fastifyKeys()')
  const ofRoutes = new WeakMap<object, CheckedKeysOptions>()
  const bodies = new WeakMap<FastifyRequest, { rawBody: Uint8Array }>()

  function optionsOf(keys: 'off' | object | undefined, where: string): CheckedKeysOptions | undefined {
    if (keys === undefined || keys === 'off') return keys === 'off' ? undefined : forAll
    const known = ofRoutes.get(keys) ?? checkKeysOptions({ ...options, ...keys }, `config.keys of ${where}`)
    ofRoutes.set(keys, known)
    return known
  }
  function optionsFor({ raw, routeOptions: { config, url = '' } }: FastifyRequest) {
    const checked = optionsOf(config.keys, url)
    return checked && isKeyed(checked, raw) ? checked : undefined
  }

  // A mistake in the options of a route is told at the start.
  app.addHook('onRoute', ({ config, url }) => void optionsOf(config?.keys, url))

  // The bytes, before they are parsed: the fingerprint is over them. With a callback, which is not
  // called where it has been answered: of a promise, Fastify would see that it is settled before it
  // sees that the reply is being sent.
  app.addHook('preParsing', (request, reply, payload, done) => {
    const checked = optionsFor(request)
    if (!checked) return done(null, payload)
    // Fastify reads bodies before its other hooks have said who it is, so only the key can be
    // checked before.
    const keyHeaders = keyHeadersOf(request.raw)
    const { refused } = keyOf(checked, keyHeaders)
    if (refused) return sendByFastify(reply, refused)
    const share = checked.held.share()
    reply.raw.once('close', () => share.release())
    readPayload(request, payload, { ...checked, share }).then(
      (read) => {
        bodies.set(request, read)
        done(null, read.payload)
      },
      (error) => {
        share.release()
        const refusal = refuseBody(error, checked)
        if (!refusal) return done(error)
        // What is left of the request is not read, so the connection cannot be used again.
        sendByFastify(reply, withHeaders(repeating(keyHeaders, refusal), { connection: 'close' }))
      },
    )
  })

  // The last thing before the handler: whoever it is has been asked by then.
  app.addHook('preHandler', (request, reply, next) => {
    const checked = optionsFor(request)
    if (!checked) {
      setKeyContext(request, unprotected())
      return next()
    }
    void answerNode(checked, {
      request: request.raw,
      response: reply.raw,
      origin: request,
      target: request.originalUrl,
      parsed: bodies.get(request) ?? request,
      handle: () => next(),
      instead: (instead) => sendByFastify(reply, instead),
      fail: (error) => next(error instanceof Error ? error : new Error(String(error))),
    })
  })
}

/**
 * The bytes, and a stream with the same to go on with. Parsers may read the raw request, so it is
 * used where it can be.
 */
async function readPayload(
  { raw }: FastifyRequest,
  payload: RequestPayload,
  limits: KeyedBodyLimits,
): Promise<{ rawBody: Uint8Array; payload: RequestPayload }> {
  if (payload === raw && 'complete' in raw) {
    const rawBody = await readBody(raw, limits)
    return { rawBody, payload }
  }
  // Another hook has put a stream of its own in its place, or the request is one of app.inject().
  const bytes = await readStreamBody(payload as RequestPayload & AsyncIterable<Uint8Array>, limits)
  const receivedEncodedLength = payload.receivedEncodedLength ?? bytes.length
  return { rawBody: bytes, payload: Object.assign(Readable.from([bytes]), { receivedEncodedLength }) }
}

// For the scope it is registered in, not for one of its own.
Object.assign(fastifyKeys, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'hookonce-keys',
})

export function sendByFastify(reply: FastifyReply, answer: Reply): void {
  const body = toTheEnd(answer)
  reply.code(answer.status)
  const headers = withExposedBefore(grouped(answer.headers), reply.getHeader(EXPOSED))
  for (const [name, values] of headers) reply.header(name, values)
  if (body instanceof Uint8Array && body.length === 0) return void reply.send()
  const bytes = body instanceof Uint8Array ? Buffer.from(body) : undefined
  // Of bytes without a type Fastify says that they are bytes; of a stream it says nothing.
  reply.send(bytes && reply.hasHeader('content-type') ? bytes : Readable.from(bytes ? [bytes] : body))
}
