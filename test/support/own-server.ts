import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { TestDatabase } from './database.ts'
import { databaseUrl, makeCluster, makeTemplate, TEMPLATE } from './servers.ts'

/** The test's own server, with one migrated database. */
export interface OwnServer {
  readonly db: TestDatabase
  /** Holds its data directory and its log. */
  readonly dir: string
  /**
   * Simulates a power cut. Other work of this process continues, so that its connections do not
   * time out.
   */
  stop(): Promise<void>
  start(): Promise<void>
  /** As a machine that hangs: connections stay open, and nothing answers. */
  freeze(): void
  thaw(): void
}

/** `settings` are those of the server, as `name=value`. */
export async function ownServer(settings: readonly string[] = []): Promise<OwnServer> {
  const cluster = await makeCluster({ settings })
  await cluster.started()
  let running = true
  let isFrozen = false
  function thaw(): void {
    if (isFrozen) cluster.thaw()
    isFrozen = false
  }
  await makeTemplate(cluster.url)
  const url = databaseUrl(cluster.url, TEMPLATE)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => undefined)
  onTestFinished(async () => {
    thaw()
    await pool.end()
    if (running) await cluster.stopped()
    cluster.remove()
  })
  return {
    dir: cluster.dir,
    db: {
      url,
      pool,
      async rows<Row>(text: string, values: unknown[] = []) {
        return (await pool.query(text, values)).rows as Row[]
      },
      async number(text, values = []) {
        const [row] = (await pool.query(text, values)).rows
        return Number(Object.values(row ?? {})[0])
      },
    },
    stop() {
      running = false
      return cluster.stopped()
    },
    freeze() {
      isFrozen = true
      cluster.freeze()
    },
    thaw,
    start() {
      running = true
      return cluster.started()
    },
  }
}
