import type { Duplex } from 'node:stream'
import type { Pool, PoolClient } from 'pg'
import { DURABLE, DURABLE_SESSION } from '../../sql/durable.ts'
import { sqlStateOf } from './sql-state.ts'
import { statement } from './statement.ts'

/**
 * No such prepared statement: a function has deallocated ours. The connection never prepares them
 * again.
 */
const LOST_STATEMENTS = '26000'

/**
 * Runs `work` on one connection of the pool. A connection that `work` left broken is not used
 * again.
 */
export async function withConnection<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  // The pool listens to idle connections only. One that breaks in our hands also fails the query
  // that it carries, and without a listener it would end the process.
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(client)
  } catch (error) {
    if (error instanceof Error && sqlStateOf(error) === LOST_STATEMENTS) broken ??= error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/**
 * Between two statements of ours lies a turn of the event loop; who needs longer than this is
 * frozen.
 */
export const IDLE_MS = 5_000

/** The pools whose connections have a limit of their own. */
const idleLimits = new WeakMap<Pool, number>()

/**
 * Has the server end a transaction on this pool's connections after `idleMs` without a statement,
 * and has their commits wait for the disk. Set once per connection, not in each transaction. Not
 * for use behind a pooler in transaction mode, where the next transaction may run on another
 * connection of the server.
 */
export function limitIdle(pool: Pool, idleMs: number): Pool {
  idleLimits.set(pool, idleMs)
  const { onConnect } = pool.options
  // Waited for before a new connection is handed out.
  pool.options.onConnect = async (client) => {
    await onConnect?.(client)
    await client.query(`set ${limit(idleMs)}; select ${DURABLE_SESSION}`)
  }
  return pool
}

/**
 * Runs `work` after BEGIN. `work` sends the COMMIT itself, because it may travel together with its
 * last statement; so does BEGIN with its first: round trips are what a transaction costs. When
 * `work` throws, everything is rolled back.
 *
 * A process that is frozen in the middle keeps its locks, and nobody could take its work over: the
 * server ends a transaction that says nothing for `idleMs`.
 */
export function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  { idleMs = IDLE_MS }: { readonly idleMs?: number } = {},
): Promise<Result> {
  const begin =
    idleLimits.get(pool) === idleMs ? BEGIN : { text: `begin; set local ${limit(idleMs)}; select ${DURABLE}` }
  return withConnection(pool, async (client) => {
    try {
      const [begun, worked] = inOneWrite(client, () => [client.query(begin), work(client)] as const)
      const [, result] = await Promise.all([begun, worked])
      return result
    } catch (error) {
      // Where this fails, so did the connection, and the server rolls back by itself.
      await client.query('rollback').catch(() => undefined)
      throw error
    }
  })
}

/* Prepared: the server need not parse even these each time. */
const BEGIN = statement('begin', 'begin')
export const COMMIT = statement('commit', 'commit')

function limit(idleMs: number): string {
  return `idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}`
}

/**
 * What `send` hands to the connection goes out in one write: a system call costs more than a small
 * statement.
 */
export function inOneWrite<Result>(client: PoolClient, send: () => Result): Result {
  // Not declared by pg's types. Without it (its native client) each statement is a write of its
  // own.
  const { connection } = client as { connection?: { stream?: Duplex } }
  connection?.stream?.cork()
  try {
    return send()
  } finally {
    connection?.stream?.uncork()
  }
}
