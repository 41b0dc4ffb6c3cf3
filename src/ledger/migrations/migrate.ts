import { setTimeout } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { inTransaction, withConnection } from '../driver/in-transaction.ts'
import { inSchemaText, schemaOf } from '../driver/schema.ts'
import { sqlStateOf } from '../driver/sql-state.ts'
import { ALLOW_TRIGGERS, nodeOf } from '../places/citus.ts'
import { applyConcurrentIndex, RECORD } from './concurrent-index.ts'
import { MIGRATIONS, type Migration, migrationsIn } from './numbered-files.ts'

/*
 * Plain numbered .sql files, applied in order and recorded. Each runs in a transaction of its own,
 * so a table that one migration has locked is free again before the next locks another, and a value
 * that one adds to an enum can be used by the next. An advisory lock makes two migrators take
 * turns: the second finds nothing to do. The lock belongs to the transaction, not to the session,
 * so it also holds behind a transaction-mode pooler.
 *
 * The comment at the head of a file may hold two declarations; docs/upgrades.md has the recipes.
 * - `-- oldest binary: N`: binaries that know only the migrations up to N still work after it.
 *   A rolling deploy needs that. Without the line, older binaries refuse to start.
 * - `-- transaction: off`: the file builds or drops one index concurrently (concurrent-index.ts).
 */
/** Any fixed number: "hookonce" in ASCII, cut to 31 bits. */
const MIGRATION_LOCK = 0x68_6f_6f_6b
/** Shards, which are claimed separately. Fixed once data exists. */
const DEFAULT_SHARDS = 16
const OLDEST_POSTGRES = 140_000

/* Not prepared statements: a migrator sends each of them once. */
const FIRST_TABLES = `
  create table if not exists ledger.migration (
    id integer primary key,
    name text not null,
    oldest_binary integer not null,
    applied_at timestamptz not null default now()
  );
  create table if not exists ledger.setting (name text primary key, value integer not null);
  insert into ledger.setting (name, value) values ('shards', ${DEFAULT_SHARDS}) on conflict do nothing;`
const APPLIED = 'select id, name, oldest_binary as "oldestBinary" from ledger.migration order by id'
const SHARDS = `select value from ledger.setting where name = 'shards'`

export interface SchemaState {
  readonly shards: number
}

/**
 * How long a migration waits for a table. Every later query of that table queues behind it
 * meanwhile, so the migration gives up, pauses and tries again.
 */
const LOCK_TIMEOUT_MS = 3_000
const PAUSE_MS = 1_000
/** About five minutes: a transaction of a handler that is open for longer is stuck. */
const MAX_TRIES = 75

export interface MigrateOptions {
  readonly lockTimeoutMs?: number
  readonly pauseMs?: number
  /** The folder of the numbered files. The default is that of this package. */
  readonly folder?: URL
}

/**
 * Brings the schema up to date. Returns the names of the migrations that this call applied. The
 * pool must not close silent connections: the migration of a large table returns nothing until it
 * is done.
 */
export async function migrate(pool: Pool, options: MigrateOptions = {}): Promise<string[]> {
  const known = await migrationsIn(options.folder ?? MIGRATIONS)
  // Only reads if nothing is missing, so that a role without the right to create is enough.
  if (await isUpToDate(pool, known)) return []
  const names: string[] = []
  for (;;) {
    const next = await whileBlocked(options, () => applyNext(pool, known, options))
    if (next === undefined) return names
    if (next.wasApplied) names.push(next.name)
  }
}

/** Applies the first missing migration; undefined: none is missing. */
async function applyNext(
  pool: Pool,
  known: readonly Migration[],
  options: MigrateOptions,
): Promise<{ readonly name: string; readonly wasApplied: boolean } | undefined> {
  const next = await inTransaction(pool, async (client) => {
    await requirePostgres(client)
    const missing = await lockFirstMissing(client, known, options)
    if (missing && missing.concurrentIndex === undefined) {
      if ((await nodeOf(client)) !== undefined) await client.query(ALLOW_TRIGGERS)
      await apply(client, missing)
    }
    await client.query('commit')
    return missing
  })
  if (next === undefined) return undefined
  const { name, concurrentIndex } = next
  if (concurrentIndex === undefined) return { name, wasApplied: true }
  const migration = { ...next, concurrentIndex }
  return { name, wasApplied: await applyConcurrentIndex(pool, migration, options.pauseMs ?? PAUSE_MS) }
}

async function apply(client: PoolClient, { id, name, oldestBinary, sql }: Migration): Promise<void> {
  const schema = schemaOf(client)
  await client.query(inSchemaText(RECORD, schema), [id, name, oldestBinary])
  await client.query(inSchemaText(sql, schema))
}

/** Whether there is nothing to migrate. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  return isUpToDate(pool, await migrationsIn(MIGRATIONS))
}

/* A lock timeout, or a deadlock: the tables are busy, not broken. */
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
    if (!(await hasMigrations(client))) return false
    const applied = await appliedMigrations(client)
    refuseNewerSchema(applied, known)
    return known.every((migration) => applied.some(({ id }) => id === migration.id))
  })
}

/** Applies the first missing migration, under the lock that serialises migrators. */
async function lockFirstMissing(
  client: PoolClient,
  known: readonly Migration[],
  { lockTimeoutMs = LOCK_TIMEOUT_MS }: MigrateOptions,
): Promise<Migration | undefined> {
  // Waits without a limit: another migrator holds the lock.
  await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
  // Not `if not exists`: that needs CREATE on the database even if the schema exists.
  const schema = schemaOf(client)
  const found = await client.query('select to_regnamespace($1) is null as missing', [schema])
  if (found.rows[0]?.missing) await client.query(`create schema "${schema}"`)
  await client.query(inSchemaText(FIRST_TABLES, schema))
  const applied = await appliedMigrations(client)
  refuseNewerSchema(applied, known)
  return known.find((migration) => !applied.some(({ id }) => id === migration.id))
}

/**
 * Checks that this binary can work on the schema, and reads the values that were fixed at its
 * creation.
 */
export async function checkSchema(pool: Pool): Promise<SchemaState> {
  const known = await migrationsIn(MIGRATIONS)
  return withConnection(pool, async (client) => {
    await requirePostgres(client)
    const applied = (await hasMigrations(client)) ? await appliedMigrations(client) : []
    refuseNewerSchema(applied, known)
    const missing = known.filter((migration) => !applied.some(({ id }) => id === migration.id))
    if (applied.length === 0) throw await noLedger(client)
    if (missing.length > 0) {
      const names = missing.map((migration) => migration.name).join(', ')
      throw new HookonceError('SCHEMA_MISSING', `the database lacks ${names}: run \`hookonce migrate\``)
    }
    const setting = await client.query(inSchemaText(SHARDS, schemaOf(client)))
    return { shards: setting.rows[0]?.value ?? DEFAULT_SHARDS }
  })
}

const NUMBERED = 'select count(*)::integer as ledgers from pg_namespace where nspname ~ $1'

/** Perhaps there are several ledgers, and the caller does not know of them. */
async function noLedger(client: PoolClient): Promise<HookonceError> {
  const schema = schemaOf(client)
  const result = await client.query(NUMBERED, [`^${schema}_[0-9]+$`])
  const ledgers = result.rows[0]?.ledgers ?? 0
  const fault = `the schema "${schema}" holds no ledger`
  if (ledgers === 0) {
    const advice = 'run `hookonce migrate`, with --ledgers if there are several'
    return new HookonceError('SCHEMA_MISSING', `${fault}; ${advice}`)
  }
  // Not SCHEMA_MISSING, whose advice is to migrate: that would make one more ledger.
  const advice = `there are ${ledgers} ledgers named ${schema}_0 and so on: set HOOKONCE_LEDGERS=${ledgers}, or the option \`ledgers\``
  return new HookonceError('CONFIG_INVALID', `${fault}; ${advice}`)
}

async function hasMigrations(client: PoolClient): Promise<boolean> {
  const table = inSchemaText('ledger.migration', schemaOf(client))
  const result = await client.query('select to_regclass($1) is not null as exists', [table])
  return result.rows[0]?.exists === true
}

interface AppliedMigration {
  readonly id: number
  readonly name: string
  readonly oldestBinary: number
}

async function appliedMigrations(client: PoolClient): Promise<AppliedMigration[]> {
  const result = await client.query(inSchemaText(APPLIED, schemaOf(client)))
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
