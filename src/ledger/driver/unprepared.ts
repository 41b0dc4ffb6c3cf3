import pg from 'pg'

/**
 * A client whose statements have no names. Behind a pooler in transaction mode the next transaction may run on
 * another connection of the server, where a name means nothing.
 */
export class UnpreparedClient extends pg.Client {}

const query = pg.Client.prototype.query

// Not by `override`: its many signatures all end in the same call, of which only the first argument matters here.
Object.defineProperty(UnpreparedClient.prototype, 'query', {
  value(this: pg.Client, config: unknown, ...rest: unknown[]): unknown {
    return Reflect.apply(query, this, [unnamed(config), ...rest])
  },
})

function unnamed(config: unknown): unknown {
  const isNamed = typeof config === 'object' && config !== null && 'text' in config && 'name' in config
  return isNamed ? { ...config, name: undefined } : config
}
