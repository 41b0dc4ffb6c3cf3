import type { Duplex } from 'node:stream'
import type { Pool, PoolClient } from 'pg'
import { DURABLE, DURABLE_SESSION } from '../../sql/durable.ts'
import { endAndReset } from '../../sql/session-reset.ts'
import { markLike } from './schema.ts'
import { sqlStateOf } from './sql-state.ts'
import type { PreparedStatement } from './statement.ts'

/**
 * Unknown prepared statement: a user's function has deallocated ours. `pg` does not prepare them
 * again on this connection, so the connection must be closed.
 */
const LOST_STATEMENTS = '26000'

/**
 * Runs `work` on one connection of the pool. Removes the connection from the pool if it breaks, or
 * if `work` calls `close`.
 */
export async function withConnection<Result>(
  pool: Pool,
  work: (client: PoolClient, close: (reason: Error) => void) => Promise<Result>,
): Promise<Result> {
  const client = markLike(await pool.connect(), pool)
  let broken: Error | undefined
  // The pool handles errors of idle connections only. A connection in use also emits 'error' when
  // it breaks; without a listener, that would end the process. Its query fails as well.
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(client, onError)
  } catch (error) {
    if (error instanceof Error && sqlStateOf(error) === LOST_STATEMENTS) broken ??= error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/**
 * The engine needs one turn of the event loop between two statements. A process that needs longer
 * than this is frozen.
 */
export const IDLE_MS = 5_000

/** Pools whose connections set the idle limit when they open. */
const idleLimits = new WeakMap<Pool, number>()

/**
 * Sets two things on each new connection of this pool: the server ends a transaction after `idleMs`
 * without a statement, and commits wait for the disk. This saves setting them in each transaction.
 * Not for use behind a pooler in transaction mode, where the next transaction may run on another
 * server connection.
 */
export function limitIdle(pool: Pool, idleMs: number): Pool {
  idleLimits.set(pool, idleMs)
  const { onConnect } = pool.options
  // The pool awaits this before it returns a new connection.
  pool.options.onConnect = async (client) => {
    await onConnect?.(client)
    await client.query(`set ${limit(idleMs)}; select ${DURABLE_SESSION}`)
  }
  return pool
}

interface TransactionTerms {
  readonly idleMs?: number
  /** Whether user code may have prepared a statement in SQL. */
  readonly mayHavePrepared?: () => boolean
}

/**
 * Runs `work` after BEGIN, and rolls back if `work` throws. BEGIN is sent together with the first
 * statement of `work`. `work` sends the COMMIT itself, so that it can be sent with the last
 * statement. Both save a round trip, which is the main cost of a transaction. The rollback also
 * resets the session, if the pool is marked for it (sessions.ts).
 *
 * The server ends the transaction after `idleMs` without a statement. Otherwise a frozen process
 * would keep its locks, and no other process could take over its work.
 */
export function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  { idleMs = IDLE_MS, mayHavePrepared = () => false }: TransactionTerms = {},
): Promise<Result> {
  const begin =
    idleLimits.get(pool) === idleMs ? BEGIN : { text: `begin; set local ${limit(idleMs)}; select ${DURABLE}` }
  return withConnection(pool, async (client, close) => {
    try {
      const [begun, worked] = inOneWrite(client, () => [client.query(begin), work(client)] as const)
      const [, result] = await Promise.all([begun, worked])
      return result
    } catch (error) {
      const rollback = endAndReset(pool, client, { verb: 'rollback', mayHavePrepared: mayHavePrepared() })
      // If this fails, the connection is closed, and the server rolls back by itself.
      await client.query(rollback).catch(close)
      throw error
    }
  })
}

/* Prepared, so the server does not parse them each time. */
const BEGIN: PreparedStatement = { name: 'hookonce_begin', text: 'begin' }
export const COMMIT: PreparedStatement = { name: 'hookonce_commit', text: 'commit' }

function limit(idleMs: number): string {
  return `idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}`
}

/**
 * Sends all statements that `send` starts in one write, because a system call costs more than a
 * small statement.
 */
export function inOneWrite<Result>(client: PoolClient, send: () => Result): Result {
  // Not declared in pg's types. pg's native client has no stream: there, each statement is its own
  // write.
  const { connection } = client as { connection?: { stream?: Duplex } }
  connection?.stream?.cork()
  try {
    return send()
  } finally {
    connection?.stream?.uncork()
  }
}
