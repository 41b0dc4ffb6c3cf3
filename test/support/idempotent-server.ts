import { createServer } from 'node:http'
import { type KeyEvent, memoryKeys, type NodeHandler, nodeKeys } from '../../src/keys/index.ts'
import { listening } from './listening-server.ts'

type Options = Parameters<typeof nodeKeys>[0]

export interface KeyedServer {
  readonly url: string
  /** How often the handler began. */
  readonly runs: () => number
  readonly events: readonly KeyEvent[]
  post(key: string | undefined, body?: string | Uint8Array, init?: RequestInit): Promise<Response>
}

/** A server of node:http whose handler is behind keys. Default: in memory, and for one tenant. */
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
  const url = `${await listening(server)}/orders`
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
