import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FetchBytes, fetchBytes } from '../../src/sources/schemes/fetch-text.ts'

/** What a provider's server says to one request. */
export type KeyAnswer = string | Buffer | { readonly status: number }

export interface KeyRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

/** A real server in the place of a provider's: the code under test fetches by its own means, only the host is another. */
export interface KeyServer {
  readonly url: string
  /** The addresses that were asked for, as the code named them. */
  readonly asked: string[]
  /** What arrived at the server. */
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
