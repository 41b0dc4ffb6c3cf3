import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import type { Boundaries } from './boundaries.ts'
import { frameReader, isEncryptionRequest } from './postgres-messages.ts'
import { type Batch, followTransactions } from './transactions.ts'

/** A proxy between the receiver and its database. Reports each commit before and after it. */
export interface PostgresProxy {
  /** The URL of the same database through this proxy. */
  readonly url: string
  /** The number of connections that the receiver has made. */
  readonly connections: number
  close(): void
}

/** Starts a proxy for the server of this URL, on a free port of this machine. */
export async function proxyPostgres(databaseUrl: string, boundaries: Boundaries): Promise<PostgresProxy> {
  const target = new pg.Client({ connectionString: databaseUrl })
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((client) => {
    const upstream = target.host.startsWith('/')
      ? connect(`${target.host}/.s.PGSQL.${target.port}`)
      : connect(target.port, target.host)
    connections += 1
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
      // A killed receiver resets its connections.
      socket.on('error', end)
    }
    relay(client, upstream, boundaries).catch(end)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: throughPort(databaseUrl, target, (server.address() as AddressInfo).port),
    get connections() {
      return connections
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function throughPort(databaseUrl: string, { user, password, database }: pg.Client, port: number): string {
  const url = new URL('postgres://127.0.0.1')
  url.port = String(port)
  url.username = user ?? ''
  url.password = typeof password === 'string' ? password : ''
  url.pathname = `/${database ?? ''}`
  const options = URL.canParse(databaseUrl) ? new URL(databaseUrl).searchParams : new URLSearchParams()
  for (const [name, value] of options)
    if (!/^(host|port|ssl.*|channel_binding)$/.test(name)) url.searchParams.set(name, value)
  return url.toString()
}

/** Ends when either side ends, or when the receiver is killed at a boundary. */
async function relay(client: Socket, upstream: Socket, boundaries: Boundaries): Promise<void> {
  /** Batches that the server has not finished yet, in order. */
  const pending: Batch[] = []
  await Promise.all([toServer(client, upstream), toClient(client, upstream)])

  async function toServer(from: Socket, to: Socket): Promise<void> {
    const read = frameReader(true)
    const follow = followTransactions()
    for await (const chunk of from) {
      for (const frame of read(chunk)) {
        // The connection to the proxy is on this machine, so it needs no encryption.
        if (isEncryptionRequest(frame)) from.write('N')
        else if (frame.type === '') to.write(frame.bytes)
        else
          for (const batch of follow([frame])) {
            if (batch.commit !== undefined && (await boundaries.before(batch.commit)) === 'killed')
              throw new Error('killed before a commit')
            if (batch.isAnswered) pending.push(batch)
            to.write(batch.bytes)
          }
      }
    }
    to.end()
  }

  async function toClient(to: Socket, from: Socket): Promise<void> {
    const read = frameReader(false)
    let failed = false
    for await (const chunk of from) {
      for (const frame of read(chunk)) {
        if (frame.type === 'E') failed = true
        if (frame.type === 'Z') {
          // The first ReadyForQuery follows the login and answers no batch.
          const { commit } = pending.shift() ?? {}
          if (commit !== undefined && !failed && (await boundaries.after(commit)) === 'killed')
            throw new Error('killed after a commit')
          failed = false
        }
        to.write(frame.bytes)
      }
    }
    to.end()
  }
}
