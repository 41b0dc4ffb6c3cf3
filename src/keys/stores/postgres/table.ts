import type { Pool, PoolClient } from 'pg'
import { statements } from './statements.ts'
import { inTransaction } from './transaction.ts'

/*
 * Finds or creates the table of keys. A name without a schema is resolved once, by the current
 * search path, and from then on used with its schema. Otherwise a later change of the search path,
 * for example by a handler, would lead to another table in which every key is new.
 */

/** Any fixed number. Two processes that start at once create the table one after the other. */
const CREATION_LOCK = 0x6b_65_79_73

const FIND = `
  select quote_ident(n.nspname) as schema
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid = to_regclass($1) and c.relpersistence <> 't'`

/** Creates the table if it is missing. Returns its qualified name. */
export async function createTable(pool: Pool, table: string): Promise<string> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK])
    const name = (await find(client, table)) ?? (await nameForNew(client, table))
    await client.query(statements(name).create)
    return { commit: true, answer: name }
  })
}

/** Returns the qualified name of the table. Throws if it does not exist. */
export async function findTable(pool: Pool, table: string): Promise<string> {
  const name = await inTransaction(pool, async (client) => ({
    commit: false,
    answer: await find(client, table),
  }))
  if (name !== undefined) return name
  throw new Error(
    `the table ${table} does not exist: create it with \`hookonce migrate --keys --table ${table}\`, or leave \`migrate\` on`,
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
    `no schema of the search path exists; pass a name with a schema for the table, such as myschema.${table}`,
  )
}
