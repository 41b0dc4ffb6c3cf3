import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Hookonce } from '../hookonce.ts'
import { HookonceError } from '../model/errors.ts'
import type { Sources } from '../options.ts'

export interface GatewayServer {
  readonly port: number
  /** Stops listening; requests that are under way are answered. */
  close(): Promise<void>
}

export interface GatewayOptions {
  readonly hooks: Hookonce<Sources>
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** False: this process only works, and only tells how it is. */
  readonly receives: boolean
  readonly metrics: () => Promise<string>
}

/** The whole request must arrive within this; a body has a shorter limit of its own. */
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** Longer than the idle time-out of common load balancers (60 s), so that it is they who close. */
const KEEP_ALIVE_MS = 65_000
/** A provider that retries after an outage connects all at once: past Node's 511 the kernel drops and resets connections. */
const BACKLOG = 4_096

/** `POST /in/:source` receives; `/healthz`, `/readyz` and `/metrics` tell how it is. */
export async function startGateway({
  hooks,
  host,
  port,
  receives,
  metrics,
}: GatewayOptions): Promise<GatewayServer> {
  const receive = hooks.node()
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? ''
      if (receives && IN.test(path)) return void receive(request, response)
      void answer({ hooks, metrics, path }, request, response)
    },
  )
  await listen(server, host, port)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

const IN = /^\/in\/[^/]+\/?$/

async function answer(
  { hooks, metrics, path }: Pick<GatewayOptions, 'hooks' | 'metrics'> & { path: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume()
  if (path === '/healthz') return text(response, 200, 'alive\n')
  if (path === '/readyz') {
    const ready = await hooks.ready()
    return text(response, ready ? 200 : 503, ready ? 'ready\n' : 'the ledger cannot record now\n')
  }
  if (path === '/metrics') {
    return metrics().then(
      (told) => text(response, 200, told),
      () => text(response, 503, 'the ledger cannot be read now\n'),
    )
  }
  text(response, 404, 'Deliveries come in at POST /in/:source\n')
}

function text(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error)
      reject(
        new HookonceError('PORT_TAKEN', `port ${port} is taken by another program: choose one with --port`),
      )
    })
    server.listen({ port, host, backlog: BACKLOG }, resolve)
  })
}
