import { once } from 'node:events'
import pg, { type Connection, type PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { pipeline } from '../../../src/ledger/driver/pipeline.ts'
import { cutWhenSilent } from '../../../src/ledger/driver/silent-server.ts'
import { freshDatabase } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'

/** Longer than a busy machine takes to answer. */
const SILENT_MS = 500

async function impatientPool(connectionString: string): Promise<pg.Pool> {
  const pool = cutWhenSilent(new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0 }), SILENT_MS)
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

const PID = 'select pg_backend_pid() as pid'

test('a server that no longer answers fails the query, and the next query has another connection', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const pool = await impatientPool(proxy.url)
  const before = await pool.query(PID)
  proxy.loseRepliesTo('mute')
  await expect(pool.query({ name: 'mute', text: 'select 1' })).rejects.toThrow(
    `PostgreSQL did not respond for ${SILENT_MS} ms`,
  )
  proxy.cut()
  const after = await pool.query(PID)
  expect(after.rows[0].pid).not.toBe(before.rows[0].pid)
})

test('an idle connection in the pool may be silent', async () => {
  const db = await freshDatabase()
  const pool = await impatientPool(db.url)
  const client = await pool.connect()
  const { stream } = (client as PoolClient & { connection: Connection }).connection
  const before = await client.query(PID)
  const silent = once(stream, 'timeout')
  client.release()
  await silent
  const after = await pool.query(PID)
  expect(after.rows[0].pid).toBe(before.rows[0].pid)
})

test('an answered query leaves no timer behind', async () => {
  const db = await freshDatabase()
  const pool = await impatientPool(db.url)
  const client = await pool.connect()
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  await pipeline(client, [{ text: 'select 1', values: [] }])
  const before = timers()
  for (let i = 0; i < 20; i += 1) await pipeline(client, [{ text: 'select 1', values: [] }])
  // Other tests of this process may have timers too.
  expect(timers()).toBeLessThan(before + 20)
  client.release()
})
