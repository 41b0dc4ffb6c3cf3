// A seeded ledger on its own embedded PostgreSQL, with a gateway over it, for one measurement.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { serveSeeded } from './gateway.mjs'
import { seedLedger } from './seed.mjs'

const { startEmbedded } = await import('../../dist/ledger/embedded/embedded.js')
const { migrate } = await import('../../dist/ledger/migrations/migrate.js')

/**
 * Runs `work` with the ports of the gateway and a pool of the ledger, and removes everything
 * afterwards. `databaseUrl` is a ledger that was seeded before; it is not removed.
 */
export async function withSeededGateway({ receipts, seed, now, args, databaseUrl }, work) {
  if (databaseUrl !== undefined) return overLedger({ databaseUrl, args }, work)
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-seeded-'))
  chmodSync(dir, 0o755) // as root the server runs as another user, who needs access
  const server = await startEmbedded({ dir })
  const pool = new pg.Pool({ connectionString: server.url, max: 2 })
  // Idle connections end with the server.
  pool.on('error', () => undefined)
  let gateway
  try {
    await migrate(pool)
    console.log(`seed ${seed}`)
    const began = performance.now()
    const onProgress = (done) =>
      process.stderr.write(`\r${done} receipts, ${Math.round((performance.now() - began) / 1_000)} s `)
    await seedLedger(pool, { receipts, seed, now, onProgress })
    process.stderr.write('\n')
    gateway = await serveSeeded({ databaseUrl: server.url, dir, args })
    await work({ pool, ...gateway })
  } finally {
    await gateway?.stop()
    await pool.end()
    await server.leave()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function overLedger({ databaseUrl, args }, work) {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-seeded-'))
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  const gateway = await serveSeeded({ databaseUrl, dir, args })
  try {
    await work({ pool, ...gateway })
  } finally {
    await gateway.stop()
    await pool.end()
    rmSync(dir, { recursive: true, force: true })
  }
}
