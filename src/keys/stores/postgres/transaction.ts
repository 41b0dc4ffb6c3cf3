import type { ClientBase, Pool, PoolClient, QueryConfig } from 'pg'
import { HookonceError } from '../../../model/errors.ts'
import { endAndReset, mentionsPrepare } from '../../../sql/session-reset.ts'
import { asOneStatement, refuseControl, refuseSeveral } from '../../../sql/statement-kind.ts'
import { ANSWER_TIMEOUT_MS } from './pools.ts'

interface OpenClient {
  readonly client: ClientBase
  close(): void
}

/** What a handler may have left in the session of its transaction. */
export interface SessionNotes {
  mayHavePrepared: boolean
}

/**
 * The view of its connection that a handler receives. The handler must not end the transaction,
 * which ends together with the stored result. It also must not use the client after it has
 * answered: by then the connection is back in its pool, and may be in use elsewhere.
 */
export function clientWhileOpen(client: PoolClient, notes: SessionNotes): OpenClient {
  let isOver = false
  function requireOpen(): void {
    if (!isOver) return
    throw new HookonceError(
      'TRANSACTION_MISUSED',
      'context.tx was used after the handler had answered, when its transaction had ended',
    )
  }
  function examine(text: string): void {
    refuseControl(text)
    notes.mayHavePrepared ||= mentionsPrepare(text)
  }
  const send = (...args: unknown[]): unknown => Reflect.apply(client.query, client, args)
  async function sendPlainQuery(query: HasText, values: readonly unknown[]): Promise<unknown> {
    requireOpen()
    examine(query.text)
    try {
      return await send(asOneStatement(query), ...values)
    } catch (error) {
      return refuseSeveral(error)
    }
  }
  function query(given: unknown, ...more: unknown[]): unknown {
    const config = typeof given === 'string' ? { text: given } : given
    if (isPlainQuery(config) && typeof more.at(-1) !== 'function') return sendPlainQuery(config, more)
    requireOpen()
    if (!hasText(config)) return send(given, ...more)
    examine(config.text)
    if (isPlainQuery(config)) return send(asOneStatement(config), ...more)
    // pg keeps this object, so the object itself is changed to accept only one statement.
    return send(Object.assign(config, { queryMode: 'extended' }), ...more)
  }
  return {
    client: new Proxy(client, {
      get(target, name) {
        if (name === 'query') return query
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    }),
    close() {
      isOver = true
    },
  }
}

interface HasText {
  readonly text: string
}

function hasText(query: unknown): query is HasText {
  return typeof query === 'object' && query !== null && 'text' in query && typeof query.text === 'string'
}

/** False for pg's own query objects, cursors and streams, to which pg hands over the connection. */
function isPlainQuery(query: unknown): query is HasText {
  return hasText(query) && !('submit' in query)
}

/** A shorter pause does not mean that the process is frozen. */
const SHORTEST_IDLE_MS = 1_000

export interface WorkResult<Answer> {
  readonly commit: boolean
  readonly answer: Answer
}

/**
 * Runs `work` between BEGIN and COMMIT or ROLLBACK, which also reset the session if its pool is marked for it. A process that freezes in between keeps its row
 * locks, and no other process could take over its key. The server therefore ends a transaction that
 * is idle for `idleMs`.
 */
export async function inTransaction<Answer>(
  pool: Pool,
  work: (client: PoolClient, notes: SessionNotes) => Promise<WorkResult<Answer>>,
  { idleMs = ANSWER_TIMEOUT_MS }: { readonly idleMs?: number | undefined } = {},
): Promise<Answer> {
  const client = await pool.connect()
  let broken: Error | undefined
  // Without a listener, a connection that breaks while checked out would end the process.
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  const notes: SessionNotes = { mayHavePrepared: false }
  async function end(verb: 'commit' | 'rollback'): Promise<void> {
    try {
      await client.query(timed({ text: endAndReset(pool, client, { verb, ...notes }) }))
    } catch (error) {
      // The outcome on this connection is unknown, so it is not reused. The server ends what is
      // left open.
      broken = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
  const limitMs = Math.max(Math.ceil(idleMs), SHORTEST_IDLE_MS)
  try {
    await client.query(`begin; set local idle_in_transaction_session_timeout = ${limitMs}`)
    const { commit, answer } = await work(client, notes)
    await end(commit ? 'commit' : 'rollback')
    return answer
  } catch (error) {
    // The caller receives the first error.
    if (!broken) await end('rollback').catch(() => undefined)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/**
 * Adds a timeout for one query, because the caller's pool may have none. The types of pg leave it
 * out.
 */
export function timed<Query extends QueryConfig>(query: Query): Query {
  return { ...query, query_timeout: ANSWER_TIMEOUT_MS }
}
