import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { inTransaction, withConnection } from '../driver/in-transaction.ts'
import { sqlStateOf } from '../driver/sql-state.ts'

/*
 * Plain numbered .sql files, applied in order and recorded, each in a transaction of its own: a
 * table that one has locked is free again before the next locks another. An advisory lock makes two
 * migrators take turns: the second finds nothing to do. (The lock is the transaction's, not the
 * session's, so that it also holds behind a transaction-mode pooler.)
 *
 * A migration may declare in its first line `-- oldest binary: N` that binaries which know only the
 * migrations up to N still work after it: that is what a rolling deploy needs. Without the line,
 * older binaries refuse.
 */
const MIGRATIONS = new URL('./', import.meta.url)
/** Any fixed number: "hookonce" in ASCII, cut to 31 bits. */
const MIGRATION_LOCK = 0x68_6f_6f_6b
/**
 * Lanes of work that can be claimed, and later distributed, apart from each other. Fixed once data
 * exists.
 */
const DEFAULT_SHARDS = 16
const OLDEST_POSTGRES = 140_000

interface Migration {
  readonly id: number
  readonly name: string
  readonly sql: string
  readonly oldestBinary: number
}

export interface SchemaState {
  readonly shards: number
}

/**
 * How long a migration waits for a table. Everyone who comes after it queues behind it meanwhile,
 * so it gives way and comes back.
 */
const LOCK_TIMEOUT_MS = 3_000
const PAUSE_MS = 1_000
/** About five minutes: a transaction of a handler that is open for longer is stuck. */
const MAX_TRIES = 75

export interface MigrateOptions {
  readonly lockTimeoutMs?: number
  readonly pauseMs?: number
}

/**
 * Brings the schema up to date. Returns the names of the migrations that this call applied. The
 * pool must not cut silent connections: a migration of a large table says nothing for as long as it
 * takes.
 */
export async function migrate(pool: Pool, options: MigrateOptions = {}): Promise<string[]> {
  const known = await knownMigrations()
  // Only read where nothing is missing: a role that may not create anything is then enough.
  if (await isUpToDate(pool, known)) return []
  const names: string[] = []
  for (let name = await applyNext(); name !== undefined; name = await applyNext()) names.push(name)
  return names

  function applyNext(): Promise<string | undefined> {
    return whileBlocked(options, () =>
      inTransaction(pool, async (client) => {
        await requirePostgres(client)
        const name = await applyFirstMissing(client, known, options)
        await client.query('commit')
        return name
      }),
    )
  }
}

/** Whether there is nothing to migrate. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  return isUpToDate(pool, await knownMigrations())
}

/* A lock that was not to be had in time, and a deadlock: the tables are busy, not broken. */
const BLOCKED = new Set(['55P03', '40P01'])

async function whileBlocked<Result>(
  { pauseMs = PAUSE_MS }: MigrateOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!BLOCKED.has(sqlStateOf(error))) throw error
      if (tries === MAX_TRIES)
        throw new HookonceError('MIGRATION_BLOCKED', `a table stayed locked through ${tries} tries`, {
          cause: error,
        })
      await setTimeout(pauseMs)
    }
  }
}

async function isUpToDate(pool: Pool, known: readonly Migration[]): Promise<boolean> {
  return withConnection(pool, async (client) => {
    await requirePostgres(client)
    const exists = await client.query(`select to_regclass('hookonce.migration') is not null as exists`)
    if (!exists.rows[0]?.exists) return false
    const applied = await appliedMigrations(client)
    refuseNewerSchema(applied, known)
    return known.every((migration) => applied.some(({ id }) => id === migration.id))
  })
}

async function applyFirstMissing(
  client: PoolClient,
  known: readonly Migration[],
  { lockTimeoutMs = LOCK_TIMEOUT_MS }: MigrateOptions,
): Promise<string | undefined> {
  // Waited for as long as it takes: another migrator holds it.
  await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
  // Not `if not exists`: for that the role would need CREATE on the database even where the schema
  // is there.
  const schema = await client.query(`select to_regnamespace('hookonce') is null as missing`)
  if (schema.rows[0]?.missing) await client.query('create schema hookonce')
  await client.query(`
    create table if not exists hookonce.migration (
      id integer primary key,
      name text not null,
      oldest_binary integer not null,
      applied_at timestamptz not null default now()
    );
    create table if not exists hookonce.setting (name text primary key, value integer not null);
    insert into hookonce.setting (name, value) values ('shards', ${DEFAULT_SHARDS}) on conflict do nothing;`)
  const applied = await appliedMigrations(client)
  refuseNewerSchema(applied, known)
  const next = known.find((migration) => !applied.some(({ id }) => id === migration.id))
  if (!next) return undefined
  await client.query('insert into hookonce.migration (id, name, oldest_binary) values ($1, $2, $3)', [
    next.id,
    next.name,
    next.oldestBinary,
  ])
  await client.query(next.sql)
  return next.name
}

/**
 * Checks that this binary can work on the schema as it is, and reads what was fixed when it was
 * made.
 */
export async function checkSchema(pool: Pool): Promise<SchemaState> {
  const known = await knownMigrations()
  return withConnection(pool, async (client) => {
    await requirePostgres(client)
    const exists = await client.query(`select to_regclass('hookonce.migration') is not null as exists`)
    const applied = exists.rows[0]?.exists ? await appliedMigrations(client) : []
    refuseNewerSchema(applied, known)
    const missing = known.filter((migration) => !applied.some(({ id }) => id === migration.id))
    if (missing.length > 0) {
      const names = missing.map((migration) => migration.name).join(', ')
      throw new HookonceError('SCHEMA_MISSING', `the database lacks ${names}: run \`hookonce migrate\``)
    }
    const setting = await client.query(`select value from hookonce.setting where name = 'shards'`)
    return { shards: setting.rows[0]?.value ?? DEFAULT_SHARDS }
  })
}

interface AppliedMigration {
  readonly id: number
  readonly name: string
  readonly oldestBinary: number
}

async function appliedMigrations(client: PoolClient): Promise<AppliedMigration[]> {
  const result = await client.query(
    'select id, name, oldest_binary as "oldestBinary" from hookonce.migration order by id',
  )
  return result.rows
}

function refuseNewerSchema(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  const newestKnown = known.at(-1)?.id ?? 0
  const tooNew = applied.find(
    (migration) => migration.id > newestKnown && migration.oldestBinary > newestKnown,
  )
  if (!tooNew) return
  throw new HookonceError(
    'SCHEMA_NEWER',
    `the database has migration ${tooNew.name}, this hookonce knows up to ${newestKnown}: deploy a newer hookonce here`,
  )
}

async function requirePostgres(client: PoolClient): Promise<void> {
  const result = await client.query(`select current_setting('server_version_num')::integer as number`)
  const number: number = result.rows[0]?.number ?? 0
  if (number >= OLDEST_POSTGRES) return
  throw new HookonceError(
    'POSTGRES_TOO_OLD',
    `the server is PostgreSQL ${Math.floor(number / 10_000)}: 14 or later is needed`,
  )
}

async function knownMigrations(): Promise<Migration[]> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(new URL(file, MIGRATIONS), 'utf8')
      const id = Number.parseInt(file, 10)
      const declared = /^-- oldest binary: (\d+)/.exec(sql)
      return { id, name: file.replace(/\.sql$/, ''), sql, oldestBinary: declared ? Number(declared[1]) : id }
    }),
  )
}
