import type { ClientBase, Pool, PoolClient, QueryConfig } from 'pg'
import { HookonceError } from '../../../model/errors.ts'
import { asOneStatement, refuseControl, refuseSeveral } from '../../../sql/statement-kind.ts'

import { ANSWER_TIMEOUT_MS } from './pools.ts'

/**
 * What a handler is given of its connection. It may not end the transaction, which ends with what
 * is kept of it; and it may have kept it, and use it when it has answered: by then the connection
 * is back in its pool, and in somebody else's.
 */
export function whileOpen(client: PoolClient): { readonly client: ClientBase; close(): void } {
  let over = false
  function requireOpen(): void {
    if (!over) return
    throw new HookonceError(
      'TRANSACTION_MISUSED',
      'context.tx was used after the handler had answered: its transaction is over',
    )
  }
  const say = (...args: unknown[]): unknown => Reflect.apply(client.query, client, args)
  async function sayOne(asked: HasText, values: readonly unknown[]): Promise<unknown> {
    requireOpen()
    refuseControl(asked.text)
    try {
      return await say(asOneStatement(asked), ...values)
    } catch (error) {
      return refuseSeveral(error)
    }
  }
  function query(given: unknown, ...more: unknown[]): unknown {
    const asked = typeof given === 'string' ? { text: given } : given
    if (isPlainQuery(asked) && typeof more.at(-1) !== 'function') return sayOne(asked, more)
    requireOpen()
    if (!hasText(asked)) return say(given, ...more)
    refuseControl(asked.text)
    if (isPlainQuery(asked)) return say(asOneStatement(asked), ...more)
    // pg keeps the object that it was given, so it is told there to take one statement only.
    return say(Object.assign(asked, { queryMode: 'extended' }), ...more)
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
      over = true
    },
  }
}

interface HasText {
  readonly text: string
}

function hasText(query: unknown): query is HasText {
  return typeof query === 'object' && query !== null && 'text' in query && typeof query.text === 'string'
}

/** Not a query of pg, a cursor or a stream, which pg hands the connection to. */
function isPlainQuery(query: unknown): query is HasText {
  return hasText(query) && !('submit' in query)
}

/** Shorter pauses of a program are no freeze. */
const SHORTEST_IDLE_MS = 1_000

export interface Work<Answer> {
  readonly commit: boolean
  readonly answer: Answer
}

/**
 * Runs `work` between BEGIN and COMMIT or ROLLBACK. A process that is frozen in between keeps its
 * locks, and nobody could take its key over: the server ends a transaction that says nothing for
 * `idleMs`.
 */
export async function inTransaction<Answer>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Work<Answer>>,
  { idleMs = ANSWER_TIMEOUT_MS }: { readonly idleMs?: number | undefined } = {},
): Promise<Answer> {
  const client = await pool.connect()
  let broken: Error | undefined
  // Without a listener a connection that breaks in our hands would end the process.
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  async function end(text: 'commit' | 'rollback'): Promise<void> {
    try {
      await client.query(timed({ text }))
    } catch (error) {
      // Of a connection that did not say how it ended nothing more is asked: the server ends what
      // is left open.
      broken = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
  const limitMs = Math.max(Math.ceil(idleMs), SHORTEST_IDLE_MS)
  try {
    await client.query(`begin; set local idle_in_transaction_session_timeout = ${limitMs}`)
    const { commit, answer } = await work(client)
    await end(commit ? 'commit' : 'rollback')
    return answer
  } catch (error) {
    // What went wrong first is what the caller must hear.
    if (!broken) await end('rollback').catch(() => undefined)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** A time limit for one query, which the types of pg leave out: the caller's pool may have none. */
export function timed<Query extends QueryConfig>(query: Query): Query {
  return { ...query, query_timeout: ANSWER_TIMEOUT_MS }
}
