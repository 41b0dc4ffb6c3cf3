import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A mail service that sends once per Idempotency-Key, as most do. */
export async function startMailService() {
  const sent = new Map<string | undefined, string>()
  const calls: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    const key = request.headers['idempotency-key']?.toString()
    const mail = await text(request)
    calls.push(key)
    if (!sent.has(key)) sent.set(key, mail)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    sent,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
