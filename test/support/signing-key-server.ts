import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FetchBytes, fetchBytes } from '../../src/sources/schemes/fetch-text.ts'

/** The answer of a provider's server to one request. */
export type KeyAnswer = string | Buffer | { readonly status: number }

export interface KeyRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

/**
 * A real server that replaces a provider's server: the code under test fetches as usual, and only
 * the host is replaced.
 */
export interface KeyServer {
  readonly url: string
  /** The requested addresses, as the code spelled them. */
  readonly asked: string[]
  /** The requests that arrived at the server. */
  readonly requests: KeyRequest[]
  readonly fetching: FetchBytes
  stop(): Promise<void>
}

export async function keyServer(answer: (request: KeyRequest) => KeyAnswer): Promise<KeyServer> {
  const requests: KeyRequest[] = []
  const asked: string[] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const request: KeyRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      authorization: incoming.headers.authorization,
      body: Buffer.concat(chunks).toString('utf8'),
    }
    requests.push(request)
    const said = answer(request)
    if (typeof said === 'object' && 'status' in said) outgoing.writeHead(said.status).end()
    else outgoing.end(said)
  })
  const url = await listening(server)
  return {
    url,
    asked,
    requests,
    fetching(address, request) {
      asked.push(address)
      return fetchBytes(address.replace(/^https?:\/\/[^/]+/, url), request)
    },
    async stop() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

function listening(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}
