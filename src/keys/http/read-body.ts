import type { IncomingMessage } from 'node:http'
import { type BodyFault, type BodyLimits, isFault } from '../../http/bounded-body.ts'
import { readFetchBody } from '../../http/fetch-body.ts'
import { keptBytes } from '../../http/framework-request.ts'
import type { Share } from '../../http/held-bytes.ts'
import { hasBody, peekNodeBody } from '../../http/node-body.ts'
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
  const kept = keptBytes(parsed)
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

function orThrow(body: Uint8Array | BodyFault): Uint8Array {
  if (isFault(body)) throw bodyError(body)
  return body
}

export function bodyError({ code, detail }: BodyFault): HookonceError {
  return new HookonceError(code, detail)
}
