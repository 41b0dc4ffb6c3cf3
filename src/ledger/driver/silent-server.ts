import { Socket } from 'node:net'
import type { Connection, Pool, PoolClient } from 'pg'
import { rows, statement } from './statement.ts'

export class SilentServer extends Error {
  /** PID of the backend that did not respond. */
  readonly processId: number | undefined

  constructor(silentMs: number, processId: number | undefined) {
    super(`PostgreSQL did not respond for ${silentMs} ms`)
    this.name = 'SilentServer'
    this.processId = processId
  }
}

/* Guards against PID reuse: terminates only our own old backend. */
const END_SILENT = statement(
  'end_silent',
  `select query as statement, pg_terminate_backend(pid) from pg_stat_activity
   where pid = $1::integer and usename = current_user and datname = current_database()
     and xact_start < now() - interval '1 second'`,
)

export interface EndedSilence {
  /** The running statement, as pg_stat_activity shortens it; undefined behind a pooler. */
  readonly statement: string | undefined
}

/**
 * Terminates the backend that stopped responding. Otherwise it would continue and keep its locks,
 * although nothing waits for it. Returns undefined if the server does not respond to this query
 * either.
 */
export async function endSilent(pool: Pool, { processId }: SilentServer): Promise<EndedSilence | undefined> {
  try {
    const [ended] = await rows<{ statement: string }>(pool, END_SILENT, [processId ?? 0])
    return { statement: ended?.statement }
  } catch {
    // Safe to ignore: the caller retries its own statement, which reports the failure.
    return undefined
  }
}

/**
 * Closes a connection in use that gets no response for this long. Its query fails, and the pool
 * opens another connection.
 *
 * Uses the socket's own timer. pg's `query_timeout` creates a timer per query, which keeps the
 * bodies of a batch in memory for longer: garbage collection then took a sixth of the CPU time per
 * delivery.
 */
export function cutWhenSilent(pool: Pool, silentMs: number): Pool {
  const asked = new WeakSet<PoolClient>()
  return pool
    .on('connect', (client) => {
      const { stream } = (client as PoolClient & { readonly connection: Connection }).connection
      // The caller's own stream may have no timeout.
      if (!(stream instanceof Socket)) return
      stream.setTimeout(silentMs)
      stream.on('timeout', () => {
        // An idle connection in the pool expects no response.
        if (asked.has(client)) stream.destroy(new SilentServer(silentMs, processIdOf(client)))
      })
    })
    .on('acquire', (client) => asked.add(client))
    .on('release', (_error, client) => asked.delete(client))
}

/** pg's types do not declare `processID`. */
function processIdOf(client: PoolClient): number | undefined {
  const { processID } = client as PoolClient & { readonly processID?: number | null }
  return processID ?? undefined
}
