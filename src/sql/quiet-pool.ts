import type { Pool } from 'pg'

/**
 * Ignores errors of connections that no query waits for. The next query opens a new connection, or
 * reports the failure if it persists.
 *
 * pg-pool reports errors of idle connections only. A server that shuts down may send its last
 * message together with the one that ends the login: then the connection is neither idle nor in use
 * yet, and without a listener of its own that message would end the process.
 */
export function quietPool(pool: Pool): Pool {
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool.on('error', () => undefined)
}
