import type { IncomingMessage } from 'node:http'
import type { Deadlines } from '../../http/deadlines.ts'
import {
  howToKeepBytes,
  keptBytes,
  keptText,
  type NodeRequest,
  rawRequest,
} from '../../http/framework-request.ts'
import { type ErrorCode, HookonceError } from '../../model/errors.ts'
import { canonicalJson } from './canonical-json.ts'

/** How much of a body is read, and for how long it is waited for. */
export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  /** Of that length. */
  readonly deadlines: Deadlines
  /** Told of bytes as they come: false where there is no room for them. */
  readonly mayHold?: (bytes: number) => boolean
}

/** What may become of a body on its way. */
export const OF_BODIES: ReadonlySet<ErrorCode> = new Set([
  'BODY_TOO_LARGE',
  'BODY_INCOMPLETE',
  'BODY_ALREADY_READ',
  'BODY_STALLED',
  'OVERLOADED',
])

/**
 * The body of a request, which the handler can read after us as if nobody had: it is put back
 * before the stream says that it has ended. What a body parser has read before us is taken from
 * `rawBody`, or from the parsed `body` as canonical JSON, of `parsed`. Throws an error of
 * OF_BODIES.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  parsed: object = request,
): Promise<Uint8Array> {
  const kept = keptBytes(parsed)
  if (kept) return kept
  if (!hasBody(request)) return new Uint8Array()
  const { body } = parsed as { body?: unknown }
  // Some parsers leave an empty object for what they have not read.
  const isParsed = body !== undefined && request.readableDidRead
  // Of these, parsers leave the fields and put the files elsewhere.
  const isWhole = !request.headers['content-type']?.toLowerCase().startsWith('multipart/')
  if (isParsed && isWhole) return Buffer.from(typeof body === 'string' ? body : canonicalJson(body))
  if (isParsed || request.readableEnded)
    throw new HookonceError(
      'BODY_INCOMPLETE',
      'the body was read before it reached the idempotency keys: mount them before whatever reads it, or keep it as `rawBody`',
    )
  return readStream(request, limits)
}

/** The same where only the bytes will do, because a signature is over them. */
export async function readSignedBody(given: NodeRequest, limits: BodyLimits): Promise<Uint8Array> {
  const request = rawRequest(given)
  const wasRead = request.readableEnded
  const kept = keptBytes(given) ?? (wasRead ? keptText(given) : undefined)
  if (kept) {
    if (kept.length > limits.maxBodyBytes) throw tooLarge(limits)
    if (limits.mayHold?.(kept.length) === false) throw noRoom()
    return kept
  }
  if (!hasBody(request)) return new Uint8Array()
  if (wasRead) throw new HookonceError('BODY_ALREADY_READ', howToKeepBytes(given))
  return readStream(request, limits)
}

async function readStream(request: IncomingMessage, limits: BodyLimits): Promise<Uint8Array> {
  // The client may hang up while its tenant is being found.
  if (request.destroyed)
    throw new HookonceError('BODY_INCOMPLETE', 'the connection closed before the body was read')
  if (Number(request.headers['content-length'] ?? 0) > limits.maxBodyBytes) throw tooLarge(limits)
  return readAndPutBack(request, limits)
}

/** Nothing is read where nothing comes: an empty stream would end before the handler listens. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** To read from a stream without a byte would end it before the handler listens. */
const isEmpty = (request: IncomingMessage): boolean => request.complete && request.readableLength === 0

async function readAndPutBack(request: IncomingMessage, limits: BodyLimits): Promise<Uint8Array> {
  const { maxBodyBytes, deadlines, mayHold = () => true } = limits
  // What came with the head is parsed by then. Chunks may turn out to be none.
  if (request.headers['transfer-encoding'] !== undefined) await undefined
  if (isEmpty(request)) return new Uint8Array()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    function end(settle: () => void): void {
      deadlines.unwatch(onStalled)
      request.off('readable', onReadable).off('close', onBroken).off('error', onBroken)
      settle()
    }
    function onReadable(): void {
      if (size === 0 && isEmpty(request)) return end(() => resolve(new Uint8Array()))
      for (let chunk = request.read(); chunk !== null; chunk = request.read()) {
        chunks.push(chunk)
        size += chunk.length
        if (size > maxBodyBytes) return end(() => reject(tooLarge(limits)))
        if (!mayHold(chunk.length)) return end(() => reject(noRoom()))
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
    function onStalled(): void {
      end(() => reject(stalled(limits)))
    }
    deadlines.watch(onStalled)
    request.on('readable', onReadable).on('close', onBroken).on('error', onBroken)
  })
}

/** The same of a request of the fetch standard. */
export async function readFetchBody(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const { maxBodyBytes, deadlines, mayHold = () => true } = limits
  if (request.bodyUsed)
    throw new HookonceError(
      'BODY_ALREADY_READ',
      'the body was read before it reached hookonce: pass request.clone() before request.json() or request.text()',
    )
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  let isStalled = false
  // The sender may be gone already; there is nobody left to tell.
  const cancel = () => reader.cancel().catch(() => undefined)
  function onStalled(): void {
    isStalled = true
    void cancel()
  }
  deadlines.watch(onStalled)
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw new HookonceError('BODY_INCOMPLETE', `the body broke off after ${size} bytes`, { cause: error })
      })
      if (isStalled) throw stalled(limits)
      if (done) return Uint8Array.from(Buffer.concat(chunks, size))
      chunks.push(value)
      size += value.length
      const fits = size <= maxBodyBytes
      if (fits && mayHold(value.length)) continue
      void cancel()
      throw fits ? noRoom() : tooLarge(limits)
    }
  } finally {
    deadlines.unwatch(onStalled)
  }
}

export function tooLarge({ maxBodyBytes }: Pick<BodyLimits, 'maxBodyBytes'>): HookonceError {
  return new HookonceError('BODY_TOO_LARGE', `the body has more than ${maxBodyBytes} bytes`)
}

function stalled({ bodyTimeoutMs }: BodyLimits): HookonceError {
  return new HookonceError('BODY_STALLED', `the body was not complete after ${bodyTimeoutMs} ms`)
}

export function noRoom(): HookonceError {
  return new HookonceError('OVERLOADED', 'there is no room for more bytes of bodies')
}
