import type { Pool, PoolClient } from 'pg'
import { statements } from './statements.ts'
import { inTransaction } from './transaction.ts'

/*
 * Where the table of keys is. A name without a schema is looked up once, by the search path of that
 * moment, and then always said with its schema: otherwise a search path that changes later, or that
 * a handler sets, would lead to another table, where every key is new.
 */

/** Any fixed number: two processes that start at once make the table one after the other. */
const CREATION_LOCK = 0x6b_65_79_73

const FIND = `
  select quote_ident(n.nspname) as schema
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid = to_regclass($1) and c.relpersistence <> 't'`

/** Makes the table where it is missing. Returns its name with its schema. */
export async function createTable(pool: Pool, table: string): Promise<string> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK])
    const name = (await find(client, table)) ?? (await nameForNew(client, table))
    await client.query(statements(name).create)
    return { commit: true, answer: name }
  })
}

/** The name of the table with its schema. Throws where there is no such table. */
export async function findTable(pool: Pool, table: string): Promise<string> {
  const name = await inTransaction(pool, async (client) => ({
    commit: false,
    answer: await find(client, table),
  }))
  if (name !== undefined) return name
  throw new Error(
    `the table ${table} is missing: make it with \`hookonce migrate --keys --table ${table}\`, or leave \`migrate\` on`,
  )
}

async function find(client: PoolClient, table: string): Promise<string | undefined> {
  if (table.includes('.')) return table
  const [row] = (await client.query<{ schema: string }>(FIND, [table])).rows
  return row && `${row.schema}.${table}`
}

async function nameForNew(client: PoolClient, table: string): Promise<string> {
  const { rows } = await client.query<{ schema: string | null }>(
    'select quote_ident(current_schema()) as schema',
  )
  const schema = rows[0]?.schema
  if (typeof schema === 'string') return `${schema}.${table}`
  throw new Error(
    `no schema of the search path exists, so there is none for ${table}: say which, as in myschema.${table}`,
  )
}
