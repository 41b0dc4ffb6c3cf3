import type { ServerResponse } from 'node:http'
import type { Reply } from './message.ts'

/** The real ends of a response, where what it shows to its handler is captured. */
export interface Wire {
  write(chunk: Uint8Array): boolean
  end(chunk?: Uint8Array): void
  destroy(error?: Error): void
  /** For good: middleware that wraps a response may be unable to take a listener away again. */
  onDrain(listener: () => void): void
}

function wireOf(response: ServerResponse): Wire {
  return {
    write: (chunk) => response.write(chunk),
    end: (chunk) => void response.end(chunk),
    destroy: (error) => void response.destroy(error),
    onDrain: (listener) => void response.on('drain', listener),
  }
}

/** Sends the body of a reply whose head is set. */
export async function sendBody(
  response: ServerResponse,
  body: Reply['body'],
  wire = wireOf(response),
): Promise<void> {
  if (body instanceof Uint8Array) {
    const mayHaveLength = response.statusCode !== 204 && response.statusCode !== 304
    // Trailers come behind chunks only.
    const isChunked = response.hasHeader('transfer-encoding') || response.hasHeader('trailer')
    if (mayHaveLength && !isChunked) response.setHeader('content-length', body.length)
    wire.end(body)
    return
  }
  response.flushHeaders()
  const pace = pacing(response, wire)
  try {
    for await (const chunk of body) {
      // To the end also when nobody listens any more: the handler is still writing.
      if (!pace.isClosed() && !wire.write(chunk)) await pace.drained()
    }
    wire.end()
  } catch (error) {
    // It broke off in the middle: only a broken connection tells the client so.
    wire.destroy(error instanceof Error ? error : undefined)
  } finally {
    pace.stop()
  }
}

interface Pace {
  isClosed(): boolean
  drained(): Promise<void>
  stop(): void
}

function pacing(response: ServerResponse, wire: Wire): Pace {
  let go: () => void = () => undefined
  const onGo = (): void => go()
  // Of the socket: that of the response may be held back until the body has ended.
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
