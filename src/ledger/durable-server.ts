import type { Pool } from 'pg'
import { HookonceError } from '../model/errors.ts'

/**
 * Rejects a server with fsync off: a power failure loses acknowledged commits or the whole
 * database, and no statement can prevent it. Does not check `full_page_writes`, because operators
 * rightly turn it off on file systems that write pages atomically.
 */
export async function requireDurable(pool: Pool): Promise<void> {
  const result = await pool.query(`select current_setting('fsync') as fsync`)
  const fsync: unknown = result.rows[0]?.fsync
  if (fsync !== 'off') return
  throw new HookonceError(
    'SERVER_NOT_DURABLE',
    `the server runs with fsync = off, so a crash of its machine loses acknowledged events; set fsync = on, or pass durability: 'unsafe' for a test server`,
  )
}
