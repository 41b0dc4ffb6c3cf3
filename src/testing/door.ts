import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SimulatedProcess } from './process.ts'

/** The result of a delivery for its sender. */
export interface Reply {
  /** Undefined: the connection broke before the reply. */
  readonly status: number | undefined
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

/** A request to the app under test. */
export interface OutgoingRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string
}

/** A real HTTP server that receives requests, with the user's app or the hooks behind it. */
export interface Door {
  /** `loseReply`: the reply is produced, but never arrives. */
  send(request: OutgoingRequest, loseReply: boolean): Promise<Reply>
  /** Resolves when all requests in progress are answered. */
  answered(): Promise<unknown>
  close(): Promise<void>
}

export async function openDoor(
  listener: RequestListener,
  host: Pick<SimulatedProcess, 'reach' | 'died'>,
): Promise<Door & { readonly port: number }> {
  const answering = new Set<Promise<unknown>>()
  const server = createServer((request, response) => {
    const { end } = response
    const closed = once(response, 'close').finally(() => answering.delete(closed))
    answering.add(closed)
    // The reply is complete here, and no byte of it was sent.
    response.end = ((...args: Parameters<typeof end>) => {
      const reached = isRecorded(response.statusCode) ? host.reach('ack') : Promise.resolve()
      void reached.then(() => end.apply(response, args))
      return response
    }) as typeof end
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo
  void host.died.then(() => server.closeAllConnections())

  return {
    port,
    answered: () => Promise.allSettled(answering),
    send: (request, loseReply) => sendTo(port, request, loseReply),
    async close() {
      server.closeAllConnections()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

export const BROKEN: Reply = { status: undefined, body: '', headers: {} }

/** Sends a request to a port of this machine, on its own connection. */
export function sendTo(
  port: number,
  { method, url, headers, body }: OutgoingRequest,
  loseReply: boolean,
): Promise<Reply> {
  return new Promise((resolve) => {
    const sent = httpRequest({
      port,
      host: '127.0.0.1',
      method,
      path: url,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false,
    })
    sent.on('error', () => resolve(BROKEN))
    sent.on('response', (response) => {
      if (loseReply) {
        response.destroy()
        return resolve(BROKEN)
      }
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(BROKEN))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode, body: text, headers: response.headers })
      })
    })
    sent.end(body)
  })
}

function isRecorded(status: number): boolean {
  return status >= 200 && status < 300
}
