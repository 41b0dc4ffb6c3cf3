import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'

/** A listening HTTP server. */
export interface Listener {
  readonly port: number
  /**
   * Stops listening and lets requests in progress finish. After `withinMs` it closes their
   * connections.
   */
  close(withinMs: number): Promise<void>
  /** Connections beyond this number are closed at once. */
  limitConnections(maxConnections: number): void
}

export interface ListenerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Undefined: as many as the system allows. */
  readonly maxConnections?: number | undefined
  /** The command-line options for host and port, for errors about them. */
  readonly flags: { readonly host: string; readonly port: string }
  readonly answer: (request: IncomingMessage, response: ServerResponse, path: string) => void
}

/** The whole request must arrive within this time. Bodies have their own, shorter limit. */
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/**
 * Longer than the idle timeout of common load balancers (60 s), so the load balancer closes the
 * connection first.
 */
const KEEP_ALIVE_MS = 65_000
/**
 * A provider that retries after an outage opens many connections at once. The kernel resets those
 * beyond the backlog, which is only 511 by default.
 */
const BACKLOG = 4_096
/** How often idle connections are closed while others finish. */
const CLOSE_IDLE_EVERY_MS = 50

export async function openListener(options: ListenerOptions): Promise<Listener> {
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => options.answer(request, response, request.url?.split('?', 1)[0] ?? ''),
  )
  const limitConnections = connectionLimit(server, options.maxConnections)
  await listen(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    close: (withinMs) => close(server, withinMs),
    limitConnections,
  }
}

/**
 * Closes connections beyond a number, which may change. `server.maxConnections` does not work here:
 * with several processes, the first one offers a surplus connection to the others in turn,
 * endlessly, until one of them has a free slot.
 */
function connectionLimit(server: Server, initial = Number.POSITIVE_INFINITY): (limit: number) => void {
  let maxConnections = initial
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    socket.once('close', () => {
      connections -= 1
    })
    if (connections > maxConnections) socket.destroy()
  })
  return (limit) => {
    maxConnections = limit
  }
}

export function sendText(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body)
}

async function close(server: Server, withinMs: number): Promise<void> {
  const over = new AbortController()
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      over.abort()
      resolve()
    })
  })
  // A connection becomes idle after the answer to its request, and would stay open for another
  // request.
  const sweep = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
  server.closeIdleConnections()
  await Promise.race([closed, delay(withinMs, undefined, { signal: over.signal }).catch(() => undefined)])
  server.closeAllConnections()
  await closed
  clearInterval(sweep)
}

function listen(server: Server, { host, port, flags }: ListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(listenFailure(error, { host, port, flags })),
    )
    server.listen({ port, host, backlog: BACKLOG }, resolve)
  })
}

function listenFailure(
  error: NodeJS.ErrnoException,
  { host, port, flags }: Pick<ListenerOptions, 'host' | 'port' | 'flags'>,
): Error {
  if (error.code === 'EADDRINUSE') {
    const fault = `port ${port} is taken, by another hookonce or another program; choose another with ${flags.port}`
    return new HookonceError('PORT_TAKEN', fault)
  }
  if (error.code === 'EACCES') {
    const advice = `choose one from 1024 up with ${flags.port}`
    return new HookonceError('CONFIG_INVALID', `this account may not listen on port ${port}: ${advice}`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    const advice = `choose another with ${flags.host}`
    return new HookonceError('CONFIG_INVALID', `"${host}" is not an address of this machine: ${advice}`)
  }
  return error
}
