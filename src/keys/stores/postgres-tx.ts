import type { ClientBase, PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { asOneStatement, refuseControl, refuseSeveral } from '../../model/statement-kind.ts'

/**
 * What a handler is given of its connection. It may not end the transaction, which ends with what is kept of it; and it may
 * have kept it, and use it when it has answered: by then the connection is back in its pool, and in somebody else's.
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
  async function sayOne(asked: PlainQuery, values: readonly unknown[]): Promise<unknown> {
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
    if (isPlainQuery(asked)) refuseControl(asked.text)
    return say(given, ...more)
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

interface PlainQuery {
  readonly text: string
}

/** Not a cursor or a stream, which pg hands the connection to. */
function isPlainQuery(query: unknown): query is PlainQuery {
  return (
    typeof query === 'object' &&
    query !== null &&
    !('submit' in query) &&
    'text' in query &&
    typeof query.text === 'string'
  )
}
