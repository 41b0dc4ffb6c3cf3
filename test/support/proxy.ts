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
  /** Swallows, and refuses new connections; or breaks every connection, and accepts new ones. */
  isolate(isIsolated: boolean): void
  /** The server loses every connection, and the app is not told; new ones work as ever. */
  halfOpen(): void
  /**
   * The end of a connection is not passed on in either direction; everything before it is. Or ends
   * that, and breaks every connection.
   */
  holdEnds(isHolding: boolean): void
  /** From now on, everything takes longer by this much, either way. */
  slow(byMs: number): void
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
  const upstreams = new Set<Socket>()
  let lost: string | undefined
  let swallowed = 0
  let isRefusing = false
  let isIsolated = false
  let isHolding = false
  let slowMs = 0
  let connections = 0
  const server = createServer({ allowHalfOpen: true }, (client) => {
    connections += 1
    if (isRefusing || isIsolated) return void client.destroy()
    const born = swallowed
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      if (socket === upstream) upstreams.add(socket)
      socket.on('error', () => undefined)
      socket.on('end', () => born === swallowed && !isHolding && other.end())
      socket.on('close', () => {
        sockets.delete(socket)
        upstreams.delete(socket)
        if (born === swallowed && !isHolding) other.destroy()
      })
    }
    let deaf = false
    const toServer = inOrder(upstream, () => slowMs)
    const toClient = inOrder(client, () => slowMs)
    client.on('data', (chunk) => {
      if (born !== swallowed) return
      deaf ||= lost !== undefined && chunk.includes(lost)
      toServer(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!deaf && born === swallowed) toClient(chunk)
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
    isolate(isolated) {
      isIsolated = isolated
      if (isolated) swallowed += 1
      else cut()
    },
    halfOpen() {
      swallowed += 1
      for (const upstream of upstreams) upstream.destroy()
    },
    holdEnds(holding) {
      isHolding = holding
      if (!holding) cut()
    },
    slow(byMs) {
      slowMs = byMs
    },
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

/** Writes each chunk after so many milliseconds, and none before those that came earlier. */
function inOrder(socket: Socket, slowMs: () => number): (chunk: Buffer) => void {
  const waiting: { readonly chunk: Buffer; readonly at: number }[] = []
  function writeDue(): void {
    for (let [first] = waiting; first && first.at <= performance.now(); [first] = waiting) {
      waiting.shift()
      if (socket.writable) socket.write(first.chunk)
    }
    const [next] = waiting
    if (next) setTimeout(writeDue, next.at - performance.now())
  }
  return (chunk) => {
    const byMs = slowMs()
    if (byMs === 0 && waiting.length === 0) return void socket.write(chunk)
    waiting.push({ chunk, at: performance.now() + byMs })
    if (waiting.length === 1) setTimeout(writeDue, byMs)
  }
}
