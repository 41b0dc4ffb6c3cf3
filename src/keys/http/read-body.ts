import type { IncomingMessage } from 'node:http'
import { HookonceError } from '../../model/errors.ts'
import { canonicalJson } from './canonical-json.ts'

/**
 * The body of a request, which the handler can read after us as if nobody had: it is put back before the stream says
 * that it has ended. Undefined where it is larger than the limit. What a body parser has read before us is taken from
 * `rawBody`, or from the parsed `body` as canonical JSON, of `parsed`.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  parsed: object = request,
): Promise<Uint8Array | undefined> {
  const { rawBody, body } = parsed as { rawBody?: unknown; body?: unknown }
  if (rawBody instanceof Uint8Array) return rawBody
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  if (body instanceof Uint8Array) return body
  if (!hasBody(request)) return new Uint8Array()
  // Some parsers leave an empty object for what they have not read.
  const isParsed = body !== undefined && request.readableDidRead
  // Of these, parsers leave the fields and put the files elsewhere.
  const isWhole = !request.headers['content-type']?.toLowerCase().startsWith('multipart/')
  if (isParsed && isWhole) return Buffer.from(typeof body === 'string' ? body : canonicalJson(body))
  if (isParsed || request.readableEnded || request.destroyed)
    throw new HookonceError(
      'BODY_INCOMPLETE',
      'the body was read before it reached the idempotency keys: mount them before whatever reads it, or keep it as `rawBody`',
    )
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined
  return readAndPutBack(request, limit)
}

/** Nothing is read where nothing comes: an empty stream would end before the handler listens. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** To read from a stream without a byte would end it before the handler listens. */
const isEmpty = (request: IncomingMessage): boolean => request.complete && request.readableLength === 0

async function readAndPutBack(request: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  // What came with the head is parsed by then. Chunks may turn out to be none.
  if (request.headers['transfer-encoding'] !== undefined) await undefined
  if (isEmpty(request)) return new Uint8Array()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    function end(settle: () => void): void {
      request.off('readable', onReadable).off('close', onBroken).off('error', onBroken)
      settle()
    }
    function onReadable(): void {
      if (size === 0 && isEmpty(request)) return end(() => resolve(new Uint8Array()))
      for (let chunk = request.read(); chunk !== null; chunk = request.read()) {
        chunks.push(chunk)
        size += chunk.length
        if (size > limit) return end(() => resolve(undefined))
      }
      if (!request.complete) return
      const body = Buffer.concat(chunks, size)
      end(() => {
        if (size > 0) request.unshift(body)
        resolve(body)
      })
    }
    function onBroken(): void {
      end(() => reject(new HookonceError('BODY_INCOMPLETE', `the connection closed after ${size} bytes`)))
    }
    request.on('readable', onReadable).on('close', onBroken).on('error', onBroken)
  })
}
