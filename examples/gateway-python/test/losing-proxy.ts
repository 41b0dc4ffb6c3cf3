import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * Passes requests on, and loses the first reply: the app has acted, and the gateway does not know.
 */
export async function startLosingProxy(target: string) {
  let passed = 0
  const server = createServer(async (request, response) => {
    const headers = request.headers as Record<string, string>
    const body = new Uint8Array(await buffer(request))
    const reply = await fetch(`${target}${request.url}`, {
      method: 'POST',
      headers: withoutHop(headers),
      body,
    })
    passed += 1
    if (passed === 1) return void request.socket.destroy()
    response.writeHead(reply.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Headers that belong to one connection. */
function withoutHop({ connection, host, ...headers }: Record<string, string>): Record<string, string> {
  const { 'content-length': _, 'transfer-encoding': __, ...rest } = headers
  return rest
}
