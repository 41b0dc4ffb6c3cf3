import pg from 'pg'
import { UnpreparedClient } from '../driver/unprepared.ts'
import { backendPid } from './server.ts'

/**
 * The kind of pooler between this machine and the server. `session` keeps one server connection for
 * each client, `transaction` lends one for each transaction, `statement` for each statement.
 */
export type PoolerMode = 'none' | 'session' | 'transaction' | 'statement'

/** A pooler with several idle server connections may lend them in turn. */
const ROUNDS = 10

/**
 * Detects a pooler and its mode by comparing what two clients see, because no pooler reports it. A
 * pooler sends its own process id at the log-in. In transaction mode, two connected clients get the
 * same server connection, or one client gets another one for its next transaction.
 */
export async function poolerMode(config: pg.ClientConfig): Promise<PoolerMode> {
  const clients = [new UnpreparedClient(config), new UnpreparedClient(config)] as const
  for (const client of clients) client.on('error', () => undefined)
  try {
    for (const client of clients) await client.connect()
    const [first, second] = clients
    if (announcedPid(first) === (await backendPid(first))) return 'none'
    if (await refusesTransactions(first)) return 'statement'
    const known = await backendPid(first)
    for (let round = 0; round < ROUNDS; round += 1) {
      const [ofFirst, ofSecond] = [await backendPid(first), await backendPid(second)]
      if (ofFirst !== known || ofSecond === known) return 'transaction'
    }
    return 'session'
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

/** The process id that the other side sent at the log-in. pg's types do not declare it. */
function announcedPid(client: pg.Client): number {
  return (client as pg.Client & { readonly processID: number }).processID
}

async function refusesTransactions(client: pg.Client): Promise<boolean> {
  try {
    await client.query('begin')
    await client.query('rollback')
    return false
  } catch (error) {
    if (error instanceof pg.DatabaseError && /statement pooling/i.test(error.message)) return true
    throw error
  }
}
