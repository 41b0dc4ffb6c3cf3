import { Socket } from 'node:net'
import type { Connection, Pool, PoolClient } from 'pg'

/**
 * Gives up a connection that was asked and has been silent for this long: what waits on it fails, and the pool opens
 * another. By the socket's own timer, which is only moved on: pg's `query_timeout` makes a timer for each query, which
 * keeps the bodies of a batch alive for so long that collecting them cost every delivery a sixth of its processor time.
 */
export function cutWhenSilent(pool: Pool, silentMs: number): Pool {
  const asked = new WeakSet<PoolClient>()
  return pool
    .on('connect', (client) => {
      const { stream } = (client as PoolClient & { readonly connection: Connection }).connection
      // A stream that the caller's options bring may know no time.
      if (!(stream instanceof Socket)) return
      stream.setTimeout(silentMs)
      stream.on('timeout', () => {
        // One that waits in the pool has nothing to say.
        if (asked.has(client)) stream.destroy(new Error(`PostgreSQL has not answered for ${silentMs} ms`))
      })
    })
    .on('acquire', (client) => asked.add(client))
    .on('release', (_error, client) => asked.delete(client))
}
