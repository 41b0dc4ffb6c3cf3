import type { Pool, PoolConfig } from 'pg'
import { quietPool } from '../../../sql/quiet-pool.ts'
import { RESET_ROLE, RESET_SETTINGS, resetAtEnd } from '../../../sql/session-reset.ts'

/**
 * Separate connections for the keys and for the transactions of handlers. With a shared pool,
 * handlers could use up all connections, and heartbeats would wait for the handlers whose locks
 * they extend.
 */
export interface Pools {
  keys(): Promise<Pool>
  /** A pool that was opened here is reset after each handler. */
  business(): Promise<Pool>
  /** Ends the pools that were opened here. A pool passed by the caller stays open. */
  close(): Promise<void>
}

/** For a server that does not respond at all. */
const CONNECT_TIMEOUT_MS = 5_000
/** Longer than the timeout of a store call. A connection that hangs is dropped and replaced. */
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
    // Loaded on first use: programs that keep their keys elsewhere do not need pg.
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({
      ...(typeof database === 'string' ? { connectionString: database } : optionsOf(database)),
      application_name: 'hookonce keys',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      max: maxConnections,
      ...more,
    })
    return quietPool(pool)
  }
  function openTracked(more: PoolConfig): Promise<Pool> {
    const pool = open(more)
    opened.push(pool)
    return pool
  }

  return {
    keys() {
      keys ??= openTracked({ query_timeout: ANSWER_TIMEOUT_MS })
      return keys
    },
    business() {
      business ??=
        typeof database === 'string'
          ? openTracked({}).then((pool) => resetAtEnd(pool, () => [...RESET_SETTINGS, RESET_ROLE]))
          : Promise.resolve(database)
      return business
    },
    async close() {
      await Promise.all(opened.splice(0).map(async (pool) => (await pool).end()))
      keys = undefined
      business = undefined
    },
  }
}

/** A pool's password is not enumerable, so that it is not logged. A spread would lose it. */
function optionsOf({ options }: Pool): PoolConfig {
  const { password } = options
  return { ...options, ...(password === undefined ? {} : { password }) }
}
