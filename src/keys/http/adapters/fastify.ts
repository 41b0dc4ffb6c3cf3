import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { setKeyContext } from '../context.ts'
import { keyOf, refuseBody, unprotected, withValidKeyHeader } from '../keyed.ts'
import { EXPOSED, grouped, type Reply, withExposedBefore, withHeaders } from '../message.ts'
import { answerNode, isKeyed, keyHeadersOf } from '../node.ts'
import { type CheckedKeysOptions, checkKeysOptions, type KeysOptions } from '../options.ts'
import { type KeyedBodyLimits, readBody, readStreamBody } from '../read-body.ts'
import { readToEnd } from '../read-to-end.ts'

export { keyContext } from '../context.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options that differ on this route. `off`: no keys. */
    keys?: 'off' | Partial<KeysOptions<FastifyRequest>>
  }
}

/**
 * Idempotency keys for Fastify, for all routes of the scope in which it is registered. A route can
 * override options with `config: { keys }`.
 *
 * ```ts
 * await app.register(fastifyKeys, { store, tenant: (request) => request.user.id })
 * ```
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

  // Reports invalid route options at startup.
  app.addHook('onRoute', ({ config, url }) => void optionsOf(config?.keys, url))

  // Reads the bytes before they are parsed, because the fingerprint covers them. Uses a callback,
  // and does not call it if the request has been answered: with a promise, Fastify would see it
  // resolved before it sees the reply being sent.
  app.addHook('preParsing', (request, reply, payload, done) => {
    const checked = optionsFor(request)
    if (!checked) return done(null, payload)
    // Fastify reads bodies before the hooks that authenticate, so only the key can be checked
    // first.
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
        // The rest of the request is not read, so the connection cannot be reused.
        sendByFastify(reply, withHeaders(withValidKeyHeader(keyHeaders, refusal), { connection: 'close' }))
      },
    )
  })

  // The last hook before the handler: authentication has run by then.
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
 * Returns the bytes, and a stream with the same bytes for Fastify to continue with. That stream is
 * the raw request where possible, because parsers may read it directly.
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
  // Another hook has replaced the stream, or the request comes from app.inject().
  const bytes = await readStreamBody(payload as RequestPayload & AsyncIterable<Uint8Array>, limits)
  const receivedEncodedLength = payload.receivedEncodedLength ?? bytes.length
  return { rawBody: bytes, payload: Object.assign(Readable.from([bytes]), { receivedEncodedLength }) }
}

// Registers the hooks in the surrounding scope instead of a new one.
Object.assign(fastifyKeys, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'hookonce-keys',
})

export function sendByFastify(reply: FastifyReply, answer: Reply): void {
  const body = readToEnd(answer)
  reply.code(answer.status)
  const headers = withExposedBefore(grouped(answer.headers), reply.getHeader(EXPOSED))
  for (const [name, values] of headers) reply.header(name, values)
  if (body instanceof Uint8Array && body.length === 0) return void reply.send()
  const bytes = body instanceof Uint8Array ? Buffer.from(body) : undefined
  // For bytes without a content type Fastify sets a default type. For a stream it sets none.
  reply.send(bytes && reply.hasHeader('content-type') ? bytes : Readable.from(bytes ? [bytes] : body))
}
