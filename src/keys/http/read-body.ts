import type { IncomingMessage } from 'node:http'
import { type BodyFault, type BodyLimits, isFault } from '../../http/bounded-body.ts'
import { keptBytes, keptRawText } from '../../http/framework-request.ts'
import type { Share } from '../../http/held-bytes.ts'
import { hasBody, peekNodeBody } from '../../http/node-body.ts'
import { readChunks, readFetchBody } from '../../http/pulled-body.ts'
import { HookonceError } from '../../model/errors.ts'
import { canonicalJson } from './canonical-json.ts'

/** The limits of a route, and the share of one request. */
export interface KeyedBodyLimits extends BodyLimits {
  readonly share: Share
}

/**
 * The body of a request. The handler can read it afterwards as if nobody had: it is put back before
 * the stream reports its end. If a body parser has read the body before us, the bytes are
 * `parsed.rawBody`, or `parsed.body` as canonical JSON. Throws the code of a BodyFault.
 */
export async function readBody(
  request: IncomingMessage,
  limits: KeyedBodyLimits,
  parsed: object = request,
): Promise<Uint8Array> {
  const kept = keptBytes(parsed) ?? keptRawText(parsed)
  if (kept) return kept
  // Nothing is read then: an empty stream would end before the handler listens.
  if (!hasBody(request)) return new Uint8Array()
  const { body } = parsed as { body?: unknown }
  // Some parsers leave an empty object for a body that they have not read.
  const isParsed = body !== undefined && request.readableDidRead
  // Parsers of multipart bodies leave the fields and put the files elsewhere.
  const isWhole = !request.headers['content-type']?.toLowerCase().startsWith('multipart/')
  if (isParsed && isWhole) return Buffer.from(typeof body === 'string' ? body : canonicalJson(body))
  if (isParsed || request.readableEnded)
    throw new HookonceError(
      'BODY_INCOMPLETE',
      'the body was read before it reached the idempotency keys: mount them before whatever reads it, or keep it as `rawBody`',
    )
  return orThrow(await peekNodeBody(request, limits, limits.share))
}

/** The body of a request of the fetch standard, in a buffer of its own. */
export async function readKeyedFetchBody(
  request: Request,
  limits: KeyedBodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  return Uint8Array.from(orThrow(await readFetchBody(request, limits, limits.share)))
}

/**
 * The body of a stream that a framework has put in place of the request. Throws the stream's own
 * error if it fails. The stream is not destroyed: that would close the connection before the
 * answer.
 */
export async function readStreamBody(
  stream: AsyncIterable<Uint8Array>,
  limits: KeyedBodyLimits,
): Promise<Uint8Array> {
  const iterator = stream[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined
  const body = await readChunks(
    async () => {
      const { done, value } = await iterator.next().catch((error) => {
        failure = { error }
        throw error
      })
      return done ? { done } : { done: false, value }
    },
    limits,
    limits.share,
  )
  if (failure) throw failure.error
  return orThrow(body)
}

function orThrow(body: Uint8Array | BodyFault): Uint8Array {
  if (isFault(body)) throw new HookonceError(body.code, body.detail)
  return body
}
