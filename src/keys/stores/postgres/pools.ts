import type { Pool, PoolConfig } from 'pg'

/**
 * Connections for the keys, and others for the transactions of handlers: were they the same, handlers could use them
 * up, and heartbeats would wait for the very handlers whose locks they keep.
 */
export interface Pools {
  keys(): Promise<Pool>
  business(): Promise<Pool>
  /** Ends what was opened here. A pool of the caller's stays. */
  close(): Promise<void>
}

/** A server that does not even answer. */
const CONNECT_TIMEOUT_MS = 5_000
/** Longer than a call of the store is waited for: a connection that hangs is given up, and replaced. */
export const ANSWER_TIMEOUT_MS = 15_000

export function openPools({
  database,
  maxConnections,
}: {
  database: string | Pool
  maxConnections: number
}): Pools {
  const opened: Promise<Pool>[] = []
  let keys: Promise<Pool> | undefined
  let business: Promise<Pool> | undefined

  async function open(more: PoolConfig): Promise<Pool> {
    // Only now: who keeps its keys elsewhere need not load it.
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({
      ...(typeof database === 'string' ? { connectionString: database } : optionsOf(database)),
      application_name: 'hookonce keys',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      max: maxConnections,
      ...more,
    })
    // An idle connection that breaks is replaced at the next query, which reports what is still wrong.
    return pool.on('error', () => undefined)
  }
  function opening(more: PoolConfig): Promise<Pool> {
    const pool = open(more)
    opened.push(pool)
    return pool
  }

  return {
    keys() {
      keys ??= opening({ query_timeout: ANSWER_TIMEOUT_MS })
      return keys
    },
    business() {
      business ??= typeof database === 'string' ? opening({}) : Promise.resolve(database)
      return business
    },
    async close() {
      await Promise.all(opened.splice(0).map(async (pool) => (await pool).end()))
      keys = undefined
      business = undefined
    },
  }
}

/** The password of a pool's options cannot be enumerated, so that it is not logged; a spread would lose it. */
function optionsOf({ options }: Pool): PoolConfig {
  const { password } = options
  return { ...options, ...(password === undefined ? {} : { password }) }
}
