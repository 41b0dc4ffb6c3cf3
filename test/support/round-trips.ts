import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy for any protocol that counts how often data is sent after data was received. */
export interface RoundTrips {
  /** The URL of the same server, through this proxy. */
  readonly url: string
  /** The count since the last call. */
  taken(): number
}

export async function countRoundTrips(serverUrl: string): Promise<RoundTrips> {
  const target = new URL(serverUrl)
  const clients = new Set<Socket>()
  let count = 0
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let heard = true
    client.on('data', (chunk) => {
      if (heard) count++
      heard = false
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      heard = true
      client.write(chunk)
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => other.destroy())
    }
    clients.add(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const client of clients) client.destroy()
  })
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.toString(),
    taken() {
      const taken = count
      count = 0
      return taken
    },
  }
}
