import type { Pool } from 'pg'
import { HookonceError } from '../model/errors.ts'

/**
 * Without fsync, a power cut loses commits that were acknowledged, or the whole database, and no
 * statement can ask for better. `full_page_writes` is left to the operator: it is off for good
 * reason on file systems that never tear a page.
 */
export async function requireDurable(pool: Pool): Promise<void> {
  const result = await pool.query(`select current_setting('fsync') as fsync`)
  const fsync: unknown = result.rows[0]?.fsync
  if (fsync !== 'off') return
  throw new HookonceError(
    'SERVER_NOT_DURABLE',
    `the server runs with fsync = off: a crash of its machine loses acknowledged events; set it on, or pass durability: 'unsafe' for a test server`,
  )
}
