import pg from 'pg'

/**
 * A client that sends statements without names. Behind a pooler in transaction mode, the next
 * transaction may run on another server connection, where the statement is not prepared.
 */
export class UnpreparedClient extends pg.Client {}

const query = pg.Client.prototype.query

// Defined without `override`, which would repeat all overloads of `query`. Only the first argument
// changes.
Object.defineProperty(UnpreparedClient.prototype, 'query', {
  value(this: pg.Client, config: unknown, ...rest: unknown[]): unknown {
    return Reflect.apply(query, this, [unnamed(config), ...rest])
  },
})

function unnamed(config: unknown): unknown {
  const isNamed = typeof config === 'object' && config !== null && 'text' in config && 'name' in config
  return isNamed ? { ...config, name: undefined } : config
}
