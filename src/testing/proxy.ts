import { once } from 'node:events'
import { type AddressInfo, createServer, connect as openSocket, Socket } from 'node:net'

/**
 * A TCP proxy between one simulated process and PostgreSQL: a process that dies or freezes loses
 * its connections.
 */
export interface DatabaseProxy {
  /** The URL of the database, through this proxy. */
  readonly url: string
  /**
   * Simulates the death of the process: PostgreSQL sees all connections break. The side of the
   * process stays silent, because dead code gets no error either.
   */
  die(): void
  /** Blocks both directions, without breaking a connection. */
  freeze(): void
  thaw(): void
  /** Ends the connections of both sides. */
  close(): void
  /**
   * Keeps the silent connections of a dead process open, without keeping this process running. If
   * they ended, the driver would report an uncaught error.
   */
  abandon(): void
}

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  drop(): void
}

/** The first byte of the message with which a client ends its connection. */
const TERMINATE = 0x58

export async function startProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  let isFrozen = false
  const server = createServer((client) => {
    const upstream = openSocket(Number(target.port || 5432), plainHost(target.hostname))
    const pair: Pair = {
      client,
      upstream,
      drop() {
        pairs.delete(pair)
        client.destroy()
        upstream.destroy()
      },
    }
    pairs.add(pair)
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', pair.drop).on('close', pair.drop)
    }
    if (!isFrozen) join(pair)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)

  return {
    url: url.toString(),
    die() {
      server.close()
      for (const pair of pairs) {
        part(pair)
        const { client, upstream, drop } = pair
        upstream.off('close', drop).off('error', drop).on('error', ignore)
        upstream.resetAndDestroy()
        // A pool that is closed after the test ends its idle connections in this way.
        client.on('data', ([first]) => first === TERMINATE && drop()).resume()
        client.unref()
      }
    },
    freeze() {
      isFrozen = true
      for (const pair of pairs) part(pair)
    },
    thaw() {
      isFrozen = false
      for (const pair of pairs) join(pair)
    },
    close() {
      server.close()
      for (const { drop } of pairs) drop()
    },
    abandon() {
      server.close()
      for (const socket of socketsTo(port)) socket.unref()
    },
  }
}

function join({ client, upstream }: Pair): void {
  client.pipe(upstream)
  upstream.pipe(client)
}

function part({ client, upstream }: Pair): void {
  client.unpipe(upstream).pause()
  upstream.unpipe(client).pause()
}

function ignore(): void {
  // PostgreSQL may have ended the connection at the same time.
}

/**
 * Sockets of drivers, which drivers do not expose. Node.js has no documented list of them either.
 */
function socketsTo(port: number): Socket[] {
  const list: unknown = Reflect.get(process, '_getActiveHandles')
  const handles: unknown = typeof list === 'function' ? list.call(process) : []
  if (!Array.isArray(handles)) return []
  return handles.filter((handle): handle is Socket => handle instanceof Socket && handle.remotePort === port)
}

function plainHost(hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, '')
  return host === '' ? '127.0.0.1' : host
}
