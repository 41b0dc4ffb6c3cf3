import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type KeyEvent, memoryKeys, type NodeHandler, nodeKeys } from '../../src/keys/index.ts'

type Options = Parameters<typeof nodeKeys>[0]

export interface KeyedServer {
  readonly url: string
  /** How often the handler began. */
  readonly runs: () => number
  readonly events: readonly KeyEvent[]
  post(key: string | undefined, body?: string | Uint8Array, init?: RequestInit): Promise<Response>
}

/** A server of node:http whose handler is behind keys, in memory and for one tenant where nothing else is said. */
export async function keyedServer(
  handler: NodeHandler,
  options: Partial<Options> = {},
): Promise<KeyedServer> {
  let runs = 0
  const events: KeyEvent[] = []
  const keys = nodeKeys({
    store: memoryKeys(),
    tenant: 'global',
    observe: (event) => events.push(event),
    ...options,
  })
  const server = createServer(
    keys((request, response, context) => {
      runs++
      return handler(request, response, context)
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`
  return {
    url,
    runs: () => runs,
    events,
    post: (key, body = '{"n":1}', init = {}) =>
      fetch(url, {
        method: 'POST',
        body: typeof body === 'string' ? body : Buffer.from(body),
        ...init,
        headers: {
          'content-type': 'application/json',
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...init.headers,
        },
      }),
  }
}
