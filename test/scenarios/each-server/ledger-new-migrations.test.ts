import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { migrationsUpTo, NEWEST } from '../../support/old-schema.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* The recipes of docs/upgrades.md, each with a throwaway migration. */

function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

test('a value that one migration adds to an enum is used by the next', async () => {
  const db = await freshDatabase()
  const folder = migrationsUpTo(NEWEST, {
    '9001-state.sql': `alter type hookonce.job_state add value 'parked';`,
    '9002-index.sql': `create index job_parked on hookonce.job (shard) where state = 'parked';`,
  })
  expect(await migrate(poolOf(db.url), { folder })).toEqual(['9001-state', '9002-index'])
  expect(await indexIsValid(db, 'job_parked')).toBe(true)
})

const page = readFileSync(new URL('../../../docs/upgrades.md', import.meta.url), 'utf8')
/** The migration that the page shows. */
const [, RECIPE = ''] = /```sql\n(.*transaction: off.*?)```/s.exec(page) ?? []
const INDEX = 'create index concurrently if not exists job_born on hookonce.job (born_at);'
const withIndex = () => migrationsUpTo(NEWEST, { '9001-born.sql': RECIPE })
const pauseMs = 20

/** Undefined: there is no such index. */
async function indexIsValid(db: TestDatabase, name: string): Promise<boolean | undefined> {
  const [row] = await db.rows<{ valid: boolean }>(
    `select i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname = $1`,
    [name],
  )
  return row?.valid
}

function recorded(db: TestDatabase): Promise<number> {
  return db.number(`select count(*) from hookonce.migration where name = '9001-born'`)
}

/** A transaction that has written a job. The index is built only after its end. */
async function openWriter(db: TestDatabase): Promise<{ end(): Promise<void> }> {
  await seedJobs(db, 20)
  const client = await poolOf(db.url).connect()
  await client.query('begin')
  await client.query(
    'update hookonce.job set due_at = now() where ctid = (select min(ctid) from hookonce.job)',
  )
  return {
    async end() {
      await client.query('commit')
      client.release()
    },
  }
}

async function builderOf(db: TestDatabase): Promise<number> {
  const pid = await until('the index is being built', async () => {
    const waiting = await db.rows<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database()
       and query like '%create index concurrently%' and wait_event_type = 'Lock'`,
    )
    return waiting[0]?.pid
  })
  return pid
}

test('an index is built while others write, by one of two migrators', async () => {
  const db = await freshDatabase()
  const writer = await openWriter(db)
  const folder = withIndex()
  const migrating = [poolOf(db.url), poolOf(db.url)].map((pool) => migrate(pool, { folder, pauseMs }))
  await builderOf(db)
  await seedJobs(db, 20)
  expect(await indexIsValid(db, 'job_born')).toBe(false)
  await writer.end()

  expect((await Promise.all(migrating)).flat()).toEqual(['9001-born'])
  expect(await indexIsValid(db, 'job_born')).toBe(true)
  expect(await recorded(db)).toBe(1)
})

test('a build that was interrupted leaves an invalid index, and the next migrator builds it anew', async () => {
  const db = await freshDatabase()
  const writer = await openWriter(db)
  const folder = withIndex()
  const migrating = migrate(poolOf(db.url), { folder, pauseMs })
  const failed = expect(migrating).rejects.toThrow()
  await db.rows('select pg_terminate_backend($1)', [await builderOf(db)])
  await failed
  expect(await indexIsValid(db, 'job_born')).toBe(false)
  expect(await recorded(db)).toBe(0)

  await writer.end()
  expect(await migrate(poolOf(db.url), { folder, pauseMs })).toEqual(['9001-born'])
  expect(await indexIsValid(db, 'job_born')).toBe(true)
  expect(await recorded(db)).toBe(1)
})

test('if a migrator dies between the index and its record, the next one records it', async () => {
  const db = await freshDatabase()
  const writer = await openWriter(db)
  const folder = withIndex()
  const migrating = migrate(poolOf(db.url), { folder, pauseMs })
  const failed = expect(migrating).rejects.toThrow()
  await builderOf(db)
  await db.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and state = 'idle in transaction' and query like '%migration where id%'`,
  )
  await writer.end()
  await failed
  expect(await indexIsValid(db, 'job_born')).toBe(true)
  expect(await recorded(db)).toBe(0)

  expect(await migrate(poolOf(db.url), { folder, pauseMs })).toEqual(['9001-born'])
  expect(await recorded(db)).toBe(1)
})

test.each([
  ['two statements', `${INDEX}\n${INDEX}`],
  ['a statement that cannot be repeated', 'create index concurrently job_born on hookonce.job (born_at);'],
  ['another statement', `alter type hookonce.job_state add value 'parked';`],
])('without a transaction, %s is refused before anything runs', async (_what, sql) => {
  const db = await freshDatabase()
  const folder = migrationsUpTo(NEWEST, { '9001-born.sql': `-- transaction: off\n${sql}\n` })
  await expect(migrate(poolOf(db.url), { folder })).rejects.toThrow(
    'migration 9001-born says `-- transaction: off`, so it must hold exactly one statement',
  )
  expect(await recorded(db)).toBe(0)
})
