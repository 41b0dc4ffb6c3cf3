import * as buffer from 'node:buffer'
import type { ServerResponse } from 'node:http'
import type { Reply } from './message.ts'

/** The real methods of a response whose visible methods are captured. */
export interface RealResponse {
  write(chunk: Uint8Array): boolean
  end(chunk?: Uint8Array | string): void
  destroy(error?: Error): void
  /** The listener stays: some middleware that wraps a response cannot remove listeners. */
  onDrain(listener: () => void): void
}

function realResponse(response: ServerResponse): RealResponse {
  return {
    write: (chunk) => response.write(chunk),
    end: (chunk) => void response.end(chunk, 'latin1'),
    destroy: (error) => void response.destroy(error),
    onDrain: (listener) => void response.on('drain', listener),
  }
}

/** Sends the body of a reply. The head must already be set. */
export async function sendBody(
  response: ServerResponse,
  body: Reply['body'],
  wire = realResponse(response),
): Promise<void> {
  if (body instanceof Uint8Array) {
    const mayHaveLength = response.statusCode !== 204 && response.statusCode !== 304
    // Trailers require chunked encoding.
    const isChunked = response.hasHeader('transfer-encoding') || response.hasHeader('trailer')
    if (mayHaveLength && !isChunked) response.setHeader('content-length', body.length)
    wire.end(inOneWrite(body))
    return
  }
  response.flushHeaders()
  const pace = paceOf(response, wire)
  try {
    for await (const chunk of body) {
      // Read to the end even if the client has disconnected: the handler is still writing.
      if (!pace.isClosed() && !wire.write(chunk)) await pace.drained()
    }
    wire.end()
  } catch (error) {
    // The body broke off. Only a broken connection shows this to the client.
    wire.destroy(error instanceof Error ? error : undefined)
  } finally {
    pace.stop()
  }
}

/** Above this size, converting the body costs more than a second write. */
const ONE_WRITE_BYTES = 16 * 1024

/**
 * Node sends a text together with the head, but bytes in a write of their own. Only ASCII, which is
 * the same text in every encoding: middleware that wraps `end` may ignore the encoding.
 */
function inOneWrite(body: Uint8Array): Uint8Array | string {
  if (body.length > ONE_WRITE_BYTES || !buffer.isAscii(body)) return body
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
}

interface Pace {
  isClosed(): boolean
  drained(): Promise<void>
  stop(): void
}

function paceOf(response: ServerResponse, wire: RealResponse): Pace {
  let go: () => void = () => undefined
  const onGo = (): void => go()
  // Listens on the socket: the response's own `close` may be held back until the body has ended.
  const { socket } = response
  const isClosed = (): boolean => response.destroyed || socket?.destroyed === true
  socket?.on('close', onGo)
  wire.onDrain(onGo)
  return {
    isClosed,
    drained: () =>
      new Promise((resolve) => {
        go = resolve
        if (isClosed()) resolve()
      }),
    stop: () => void socket?.off('close', onGo),
  }
}
