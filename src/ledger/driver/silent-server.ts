import { Socket } from 'node:net'
import type { Connection, Pool, PoolClient } from 'pg'
import { rows, statement } from './statement.ts'

export class SilentServer extends Error {
  /** The process of the server that was asked. */
  readonly processId: number | undefined

  constructor(silentMs: number, processId: number | undefined) {
    super(`PostgreSQL has not answered for ${silentMs} ms`)
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
  /** The statement that was running, cut to what the server shows; undefined behind a pooler. */
  readonly statement: string | undefined
}

/**
 * Ends what the silent server process was busy with: it would go on, and keep its locks, although
 * nobody waits for it any more. Undefined: the server does not answer others either.
 */
export async function endSilent(pool: Pool, { processId }: SilentServer): Promise<EndedSilence | undefined> {
  try {
    const [ended] = await rows<{ statement: string }>(pool, END_SILENT, [processId ?? 0])
    return { statement: ended?.statement }
  } catch {
    // Whatever went wrong here: what was asked for first is tried again, and reports it.
    return undefined
  }
}

/**
 * Gives up a connection that was asked and has been silent for this long: what waits on it fails,
 * and the pool opens another. By the socket's own timer, which is only moved on: pg's
 * `query_timeout` makes a timer for each query, which keeps the bodies of a batch alive for so long
 * that collecting them cost every delivery a sixth of its processor time.
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
        if (asked.has(client)) stream.destroy(new SilentServer(silentMs, processIdOf(client)))
      })
    })
    .on('acquire', (client) => asked.add(client))
    .on('release', (_error, client) => asked.delete(client))
}

/** Not declared by pg's types. */
function processIdOf(client: PoolClient): number | undefined {
  const { processID } = client as PoolClient & { readonly processID?: number | null }
  return processID ?? undefined
}
