import pg from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { quietPool } from '../../src/sql/quiet-pool.ts'
import type { Random } from '../chaos/random.ts'
import { freshDatabase, makeDatabase, type TestDatabase } from '../support/database.ts'
import { migrationsUpTo, NEWEST } from '../support/old-schema.ts'
import { fuzz } from './cases.ts'

/*
 * A ledger of any schema version with rows in it, several parallel migrators, and connections that
 * end at any time. In the end the schema equals that of a fresh ledger, and every row exists.
 */

/**
 * Every kind of object that a migration can make: tables, columns, constraints, indexes, functions,
 * triggers.
 */
const SCHEMA = `
  select 'column' as kind, format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) as what
    from information_schema.columns where table_schema = 'hookonce'
  union all select 'constraint', conrelid::regclass || ' ' || pg_get_constraintdef(oid)
    from pg_constraint where connamespace = 'hookonce'::regnamespace
  union all select 'index', pg_get_indexdef(indexrelid) || ' ' || indisvalid
    from pg_index join pg_class c on c.oid = indexrelid where c.relnamespace = 'hookonce'::regnamespace
  union all select 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = 'hookonce'::regnamespace
  union all select 'trigger', pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid
    where c.relnamespace = 'hookonce'::regnamespace and not tgisinternal
  union all select 'enum', t.typname || ' ' || e.enumlabel from pg_enum e join pg_type t on t.oid = enumtypid
    where t.typnamespace = 'hookonce'::regnamespace
  union all select 'migration', id || ' ' || name from hookonce.migration
  order by 1, 2`

const RECEIPTS = 20
const OLD_ROWS = `insert into hookonce.receipt (shard, id, received_at, secret, tenant, source, event_key, event_type, body_sha256, headers, body)
  select get_byte(decode(left(md5, 2), 'hex'), 0) % 16, md5::uuid, now(), 1, 'default', 'test', 'evt_' || n, 'old', sha256('{}'), '', '{}'
  from (select n, md5(n::text) as md5 from generate_series(1, ${RECEIPTS}) n) made`

const END = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'migrator' and pid <> pg_backend_pid()`
/** The connection was ended at some point of the migration. */
const ENDED = /terminat|ECONNRESET|Connection ended|not queryable/i

async function migrateUnderFire(random: Random, db: TestDatabase): Promise<void> {
  let isOver = false
  const migrators = Array.from({ length: 1 + random.below(3) }, async () => {
    const pool = quietPool(new pg.Pool({ connectionString: db.url, max: 2, application_name: 'migrator' }))
    try {
      await migrate(pool, { pauseMs: 10, lockTimeoutMs: 50 })
    } catch (error) {
      const { message, cause } = error as Error
      if (!ENDED.test(`${message} ${String(cause)}`)) throw error
    } finally {
      await pool.end()
    }
  })
  async function fire(): Promise<void> {
    for (let shots = random.below(6); shots > 0 && !isOver; shots -= 1) {
      // A random point of the migration. This does not wait for an event.
      await new Promise((resolve) => setTimeout(resolve, random.below(60)))
      await db.rows(END)
    }
  }
  const firing = fire()
  await Promise.all(migrators).finally(() => {
    isOver = true
  })
  await firing
}

test('a migration that is interrupted anywhere is finished by the next one', {
  timeout: 24 * 3_600_000,
}, async () => {
  const fresh = await freshDatabase()
  const expected = await fresh.rows(SCHEMA)
  await fuzz({ name: 'migrations', cases: 2 }, async (random) => {
    const { remove, ...db } = await makeDatabase()
    try {
      await db.rows('drop schema hookonce cascade')
      const version = random.below(NEWEST + 1)
      await migrate(db.pool, { folder: migrationsUpTo(version) })
      if (version > 0) await db.rows(OLD_ROWS)
      for (let rounds = 1 + random.below(3); rounds > 0; rounds -= 1) await migrateUnderFire(random, db)
      await migrate(db.pool, { pauseMs: 10 })
      expect(await db.rows(SCHEMA)).toEqual(expected)
      expect(await db.number('select count(*) from hookonce.receipt')).toBe(version > 0 ? RECEIPTS : 0)
      expect(await migrate(db.pool)).toEqual([])
    } finally {
      await remove()
    }
  })
})
