import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Stands in for a mail service: prints each mail, once per Idempotency-Key. Returns its URL. */
export async function printMails(): Promise<string> {
  const sent = new Set<string | undefined>()
  const server = createServer(async (request, response) => {
    const key = request.headers['idempotency-key']?.toString()
    const mail = await text(request)
    if (!sent.has(key)) console.log(`mail: ${mail}`)
    sent.add(key)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
