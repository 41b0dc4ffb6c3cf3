// @ts-check
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { CREATE } from '../contenders/business.mjs'
import { startEmbedded } from '../product.mjs'
import { endedInAnyCase } from './leftovers.mjs'

/**
 * The settings that decide the durability and the speed of a commit. They are printed with the
 * results.
 */
const SETTINGS = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_sync_method',
  'shared_buffers',
  'max_wal_size',
]

/**
 * One private server for all contenders, with its default settings, and fsync on.
 * @param {string | undefined} givenUrl use this server instead; it must be on this machine, whose clock is compared
 */
export async function startPostgres(givenUrl) {
  const server = givenUrl ? givenServer(givenUrl) : await privateServer()
  const admin = new pg.Pool({ connectionString: server.url, max: 2 })
  let made = 0

  /** @param {string} name */
  async function setting(name) {
    const result = await admin.query('select current_setting($1) as value', [name])
    return /** @type {const} */ ([name, result.rows[0].value])
  }
  const settings = Object.fromEntries(await Promise.all(SETTINGS.map(setting)))
  if (settings.fsync !== 'on' || settings.synchronous_commit !== 'on') {
    throw new Error(
      'the server runs with fsync or synchronous_commit off, so its results are not comparable; turn both on',
    )
  }

  return {
    settings,
    /**
     * An empty database with the business table, after a checkpoint, so that every round begins
     * alike.
     */
    async database() {
      const name = `bench_${process.pid}_${made++}`
      await admin.query(`create database ${name} template template0`)
      const url = new URL(server.url)
      url.pathname = `/${name}`
      const pool = new pg.Pool({ connectionString: url.href, max: 2 })
      // Dropping the database ends connections that the pool has not closed yet.
      pool.on('error', () => undefined)
      await pool.query(CREATE)
      await admin.query('checkpoint')
      return {
        url: url.href,
        pool,
        async drop() {
          await pool.end()
          await admin.query(`drop database ${name} with (force)`)
        },
      }
    },
    /** Every process of the server: backends, writers, checkpointer. */
    async pids() {
      const result = await admin.query('select pid from pg_stat_activity')
      return result.rows.map((row) => Number(row.pid))
    },
    async stop() {
      await admin.end()
      await server.stop()
    },
  }
}

/** @typedef {Awaited<ReturnType<typeof startPostgres>>} Postgres */
/** @typedef {Awaited<ReturnType<Postgres['database']>>} Database */

/** @param {string} url */
function givenServer(url) {
  return { url, stop: async () => undefined }
}

async function privateServer() {
  const dir = await mkdtemp(join(tmpdir(), 'hookonce-bench-'))
  // If this process is root, the server runs as another account, which needs access.
  await chmod(dir, 0o755)
  const starting = startEmbedded({ dir })
  // Registered before the start, because an interrupt may come during the start.
  const stop = endedInAnyCase(async () => {
    const server = await starting.catch(() => undefined)
    await server?.leave()
    // As root, the data is outside of dir, where an unprivileged account can access it.
    if (server) await rm(server.dataDir, { recursive: true, force: true })
    await rm(dir, { recursive: true, force: true })
  })
  const { url } = await starting.catch(async (error) => {
    await stop()
    throw error
  })
  return { url, stop }
}
