import type { IncomingMessage } from 'node:http'
import {
  alreadyRead,
  type BodyFault,
  type BodyLimits,
  BoundedBody,
  boundedBytes,
  isFault,
  tooLarge,
} from './bounded-body.ts'
import {
  howToKeepBytes,
  keptBytes,
  keptRawText,
  keptText,
  type NodeRequest,
  rawRequest,
} from './framework-request.ts'
import type { Share } from './held-bytes.ts'
import { dropParsedBytes, parsedBytes } from './parsed-bytes.ts'

/*
 * Bodies of node:http, read in two ways with the same limits. The body of a webhook is consumed, in
 * the stream's fastest mode. The body of a request with an idempotency key must stay readable for
 * the handler. A stream takes bytes back only before it has ended, which needs the slower
 * `readable` mode.
 */

/**
 * The bytes of a signed request: those that an earlier parser kept, those kept while it read, the
 * text that it kept, or those of the stream. Returns a fault if a parser consumed the stream and
 * nothing was kept. Synchronous for kept bytes, which saves the caller a turn of the event loop.
 */
export function readSignedBody(
  given: NodeRequest,
  limits: BodyLimits,
  share: Share,
): Uint8Array | BodyFault | Promise<Uint8Array | BodyFault> {
  const request = rawRequest(given)
  const wasRead = request.readableEnded
  const bytes = keptBytes(given) ?? (wasRead ? parsedBytes(request) : undefined)
  if (bytes && !isFault(bytes)) return boundedBytes(bytes, limits, share)
  const text = keptRawText(given) ?? (wasRead ? keptText(given) : undefined)
  if (text) return boundedBytes(text, limits, share)
  if (!wasRead) {
    dropParsedBytes(request)
    return consumeNodeBody(request, limits, share)
  }
  if (bytes) return bytes
  return hasBody(request) ? alreadyRead(howToKeepBytes(given)) : new Uint8Array()
}

function consumeNodeBody(
  request: IncomingMessage,
  limits: BodyLimits,
  share: Share,
): Promise<Uint8Array | BodyFault> {
  const { deadlines } = limits
  return new Promise((resolve) => {
    const body = new BoundedBody(limits, share)
    let isOver = false

    // The listeners are not removed: that would cost more than reading the body. They ignore events
    // after the end.
    function end(result: Uint8Array | BodyFault): void {
      isOver = true
      deadlines.unwatch(onStalled)
      resolve(result)
    }
    function fail(fault: BodyFault): void {
      if (isOver) return
      request.pause()
      end(fault)
    }
    function onStalled(): void {
      fail(body.stalled())
    }
    function onData(chunk: Buffer): void {
      if (isOver) return
      const fault = body.add(chunk)
      if (fault) fail(fault)
    }
    function onEnd(): void {
      if (!isOver) end(body.bytes())
    }
    function onClose(): void {
      if (!isOver) fail(body.incomplete())
    }
    deadlines.watch(onStalled)
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
    if (request.destroyed) onClose()
  })
}

/** Reads the body and puts it back, so that the handler can still read it. */
export async function peekNodeBody(
  request: IncomingMessage,
  limits: BodyLimits,
  share: Share,
): Promise<Uint8Array | BodyFault> {
  const { deadlines } = limits
  const body = new BoundedBody(limits, share)
  // The client may disconnect while its tenant is determined.
  if (request.destroyed) return body.incomplete()
  if (Number(request.headers['content-length'] ?? 0) > limits.maxBodyBytes) return tooLarge(limits)
  // After this turn, the bytes that arrived with the headers are parsed. There may be none.
  if (request.headers['transfer-encoding'] !== undefined) await undefined
  if (isEmpty(request)) return new Uint8Array()
  return new Promise((resolve) => {
    function end(result: Uint8Array | BodyFault): void {
      deadlines.unwatch(onStalled)
      request.off('readable', onReadable).off('close', onBroken).off('error', onBroken)
      resolve(result)
    }
    function onReadable(): void {
      if (body.size === 0 && isEmpty(request)) return end(new Uint8Array())
      for (let chunk = request.read(); chunk !== null; chunk = request.read()) {
        const fault = body.add(chunk)
        if (fault) return end(fault)
      }
      if (!request.complete) return
      const bytes = body.bytes()
      end(bytes)
      if (bytes.length > 0) request.unshift(bytes)
    }
    function onBroken(): void {
      end(body.incomplete())
    }
    function onStalled(): void {
      end(body.stalled())
    }
    deadlines.watch(onStalled)
    request.on('readable', onReadable).on('close', onBroken).on('error', onBroken)
  })
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Reading from a stream without bytes would end it before the handler listens. */
const isEmpty = (request: IncomingMessage): boolean => request.complete && request.readableLength === 0
