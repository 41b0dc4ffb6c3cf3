import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request that reached the service. */
export interface DownstreamCall {
  readonly method: string
  readonly path: string
  /** The Idempotency-Key of the request. */
  readonly key: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Whether the service acted. False: it refused, or recognised the key. */
  readonly acted: boolean
}

/**
 * The answer to one request. With a status of 400 or more, the service refuses and does nothing.
 * `lose`: it acts, and its reply never arrives. `hang`: it acts, and does not answer. `down`: the
 * connection breaks before it acts.
 */
export type DownstreamReply =
  | number
  | 'lose'
  | 'hang'
  | 'down'
  | { readonly status?: number; readonly body: unknown }

/** The calls to one path. */
export interface DownstreamCalls {
  readonly path: string
  readonly calls: readonly DownstreamCall[]
  /** How often the service acted. */
  readonly happened: number
}

/**
 * A recording HTTP service that replaces the services that handlers call. Like the API of Stripe,
 * it acts once per Idempotency-Key, and answers a repeated key with its first reply, unless a
 * failure is planned. A request without a key acts each time.
 */
export interface Downstream {
  readonly url: string
  /** All requests, or the requests to one path. */
  calls(path?: string): readonly DownstreamCall[]
  /** The requests to one path, for `toHaveHappenedOnce()`. */
  at(path: string): DownstreamCalls
  /** Sets the replies to the next requests of a path, in turn. Later requests get 200. */
  reply(path: string, ...replies: readonly DownstreamReply[]): void
  close(): Promise<void>
}

const MAX_BODY_BYTES = 10 * 1024 * 1024

export async function startDownstream(): Promise<Downstream> {
  const recorded: DownstreamCall[] = []
  const done = new Map<string, { readonly status: number; readonly body: string }>()
  const planned = new Map<string, DownstreamReply[]>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request
    const header = headers['idempotency-key']
    const key = Array.isArray(header) ? header[0] : header
    const body = await bodyOf(request)
    const id = key === undefined ? undefined : `${method} ${path} ${key}`
    const known = id === undefined ? undefined : done.get(id)
    const reply = planned.get(path)?.shift() ?? 200
    const own = replyOf(reply, recorded.length + 1)
    // A service that fails does not look its keys up.
    const sent = own.status < 400 ? (known ?? own) : own
    const acted = !known && reply !== 'down' && sent.status < 400
    recorded.push({ method, path, key, headers, body, acted })
    if (acted && id !== undefined) done.set(id, sent)
    if (reply === 'lose' || reply === 'down') return void request.socket.destroy()
    if (reply === 'hang') return
    response.writeHead(sent.status, { 'content-type': 'application/json' }).end(sent.body)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const calls = (path?: string): DownstreamCall[] =>
    recorded.filter((call) => path === undefined || call.path === path)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    at: (path) => ({ path, calls: calls(path), happened: calls(path).filter(({ acted }) => acted).length }),
    reply: (path, ...replies) => void planned.set(path, [...(planned.get(path) ?? []), ...replies]),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function replyOf(reply: DownstreamReply, number: number): { status: number; body: string } {
  if (typeof reply === 'object') return { status: reply.status ?? 200, body: JSON.stringify(reply.body) }
  return { status: typeof reply === 'number' ? reply : 200, body: JSON.stringify({ call: number }) }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is too large for the recording service')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
