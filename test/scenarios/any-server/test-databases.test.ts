import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { leaveDatabase, type PristineDatabase, takePristine } from '../../support/idle-databases.ts'
import { databaseUrl } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

/* Tests leave their databases to other tests: see idle-databases.ts. */

/** Idle databases, separate from those of other tests that run meanwhile. */
async function ownIdleDatabases() {
  const serverUrl = inject('serverUrl')
  const { pool } = await freshDatabase()
  await pool.query('create table idle_database (name text primary key, signature text not null)')
  const taken = new Set<string>()
  onTestFinished(async () => {
    const { rows } = await pool.query<{ name: string }>('select name from idle_database')
    for (const name of [...taken, ...rows.map((row) => row.name)])
      await pool.query(`drop database if exists ${name} with (force)`)
  })
  return {
    urlOf: ({ name }: PristineDatabase) => databaseUrl(serverUrl, name),
    async take() {
      const database = await takePristine(pool, serverUrl)
      taken.add(database.name)
      return database
    },
    leave: (database: PristineDatabase) => leaveDatabase(pool, serverUrl, database),
    idOf: async ({ name }: PristineDatabase) =>
      (await pool.query('select oid from pg_database where datname = $1', [name])).rows[0]?.oid,
  }
}

async function inDatabase<Result>(url: string, work: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  // The database may be renamed before the server has closed the connection.
  pool.on('error', () => undefined)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** The number of rows of every table, and the last value of every sequence. */
async function contentOf(url: string): Promise<Record<string, unknown>> {
  return inDatabase(url, async (pool) => {
    const content: Record<string, unknown> = {}
    const { rows } = await pool.query(`select oid::regclass::text as name, relkind as kind from pg_class
      where relkind in ('r', 'S') and relnamespace in ('hookonce'::regnamespace, 'public'::regnamespace)`)
    for (const { name, kind } of rows) {
      const what = kind === 'r' ? `count(*) from ${name}` : `pg_sequence_last_value('${name}')`
      content[name] = Object.values((await pool.query(`select ${what}`)).rows[0] ?? {})[0]
    }
    return content
  })
}

test('a database that a test has used is empty again under another name', async () => {
  const { take, leave, idOf, urlOf } = await ownIdleDatabases()
  const first = await take()
  const [id, empty] = [await idOf(first), await contentOf(urlOf(first))]
  await inDatabase(urlOf(first), async (pool) => {
    const number = async (text: string): Promise<number> =>
      Number(Object.values((await pool.query(text)).rows[0] ?? {})[0])
    const hooks = testHooks({ url: urlOf(first), pool, rows: async () => [], number })
    hooks.on('test', '*', (event, ctx) => {
      ctx.write({ text: 'insert into effect (receipt_id) values ($1)', values: [event.receiptId] })
    })
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await until('the event has taken effect', () => number('select count(*) from effect'))
    await hooks.stop({ drainMs: 0 })
  })
  expect(await contentOf(urlOf(first))).not.toEqual(empty)
  await leave(first)

  const second = await take()
  expect(await idOf(second)).toBe(id)
  expect(second.name).not.toBe(first.name)
  expect(await contentOf(urlOf(second))).toEqual(empty)
})

const CHANGES = [
  'create table public.invoice (id int)',
  'alter table hookonce.job add column extra int',
  'create index on hookonce.job (crashes)',
  'grant select on hookonce.job to public',
  'analyze hookonce.migration',
  'update hookonce.setting set value = value + 1',
  'drop schema hookonce cascade',
  `do $$ begin execute format('alter database %I set work_mem = 64', current_database()); end $$`,
  `do $$ begin execute format('alter database %I connection limit 5', current_database()); end $$`,
]

test('a database in which a test changed more than rows is not used again', async () => {
  const { take, leave, idOf, urlOf } = await ownIdleDatabases()
  for (const change of CHANGES) {
    const database = await take()
    const id = await idOf(database)
    await inDatabase(urlOf(database), (pool) => pool.query(change))
    await leave(database)
    const next = await take()
    expect(await idOf(next), change).not.toBe(id)
    await leave(next)
  }
})
