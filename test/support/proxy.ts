import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy between an app and its PostgreSQL that loses messages of the server on request. */
export interface Proxy {
  /** The URL of the same database, through this proxy. */
  readonly url: string
  /**
   * After the next use of this prepared statement, its connection receives nothing more from the
   * server: the commit happens, the reply is lost.
   */
  loseRepliesTo(statement: string): void
  /** From now on nothing passes in either direction, without an error. New connections work. */
  swallow(): void
  /** Breaks every connection. New connections work. */
  cut(): void
  /**
   * Breaks every connection, and new connections as soon as they are made, like a restarting
   * server. Or ends that.
   */
  refuse(isRefusing: boolean): void
  /** The number of connections so far. */
  readonly connections: number
  /** Breaks every connection. New connections go to the same database of another server. */
  retarget(serverUrl: string): void
}

export async function proxyTo(databaseUrl: string): Promise<Proxy> {
  let target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let lost: string | undefined
  let swallowed = 0
  let isRefusing = false
  let connections = 0
  const server = createServer({ allowHalfOpen: true }, (client) => {
    connections += 1
    if (isRefusing) return void client.destroy()
    const born = swallowed
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('end', () => born === swallowed && other.end())
      socket.on('close', () => {
        sockets.delete(socket)
        if (born === swallowed) other.destroy()
      })
    }
    let deaf = false
    client.on('data', (chunk) => {
      if (born !== swallowed) return
      deaf ||= lost !== undefined && chunk.includes(lost)
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!deaf && born === swallowed) client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  function cut(): void {
    lost = undefined
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    server.close()
    cut()
  })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.toString(),
    loseRepliesTo(statement) {
      lost = statement
    },
    swallow() {
      swallowed += 1
    },
    cut,
    refuse(refusing) {
      isRefusing = refusing
      cut()
    },
    get connections() {
      return connections
    },
    retarget(serverUrl) {
      target = new URL(serverUrl)
      cut()
    },
  }
}
