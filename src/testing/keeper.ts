import { chmodSync, mkdirSync } from 'node:fs'
import { argv, stdin, stdout } from 'node:process'
import pg from 'pg'
import { type EmbeddedServer, startEmbedded } from '../ledger/embedded/embedded.ts'

/*
 * A process that keeps the embedded test server running for one test process. Test runners kill
 * their workers, so a worker cannot stop the server itself. The keeper's standard input ends when
 * the worker ends, in any way. The last keeper stops the server.
 */

/** Many test processes use the server at the same time, each with several engines. */
const MAX_CONNECTIONS = 400

const [, , dir = ''] = argv

async function tune(server: EmbeddedServer): Promise<boolean> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    // Tests kill processes, not machines: written data survives without a sync.
    await client.query('alter system set fsync = off')
    await client.query('alter system set full_page_writes = off')
    await client.query(`alter system set max_connections = ${MAX_CONNECTIONS}`)
    await client.query('select pg_reload_conf()')
    const { rows } = await client.query<{ max_connections: string }>('show max_connections')
    return Number(rows[0]?.max_connections) === MAX_CONNECTIONS
  } finally {
    await client.end()
  }
}

mkdirSync(dir, { recursive: true })
// As root, the server runs as another user, who needs access.
chmodSync(dir, 0o755)
let server = await startEmbedded({ dir })
if (!(await tune(server))) {
  // The server stops if no other process uses it, and starts with the new limit.
  await server.leave()
  server = await startEmbedded({ dir })
}
stdout.write(`${JSON.stringify({ url: server.url })}\n`)
stdin.resume().on('close', () => void server.leave())
