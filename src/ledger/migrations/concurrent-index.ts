import { setTimeout } from 'node:timers/promises'
import pg, { type Pool } from 'pg'
import { inTransaction } from '../driver/in-transaction.ts'
import { inSchemaText, schemaOf } from '../driver/schema.ts'
import type { Migration } from './numbered-files.ts'

/*
 * Migrations that build or drop an index without blocking writers. PostgreSQL does that only
 * outside a transaction, so the index and its record cannot be one commit.
 *
 * One transaction holds a lock while a second connection builds the index; then it records the
 * migration and commits. If the process dies before that, the next migrator repeats the statement.
 * An interrupted build leaves an invalid index of the same name, which is dropped first.
 *
 * This lock differs from the one that serialises migrators. Building waits for every older
 * transaction, and a waiting migrator is in one: the two would wait for each other forever. Here no
 * process waits inside a transaction.
 */

/** "index" in ASCII, cut to 31 bits. */
const INDEX_LOCK = 0x69_6e_64_65

/** Records an applied migration. */
export const RECORD = 'insert into ledger.migration (id, name, oldest_binary) values ($1, $2, $3)'

/** False: another migrator is building it, or has just built it. */
export function applyConcurrentIndex(
  pool: Pool,
  migration: Migration & { readonly concurrentIndex: string },
  pauseMs: number,
): Promise<boolean> {
  return inTransaction(
    pool,
    async (client) => {
      // Without parameters: a query with parameters keeps its snapshot until the next query, and
      // the index waits for every older snapshot.
      const lock = await client.query(`select pg_try_advisory_xact_lock(${INDEX_LOCK}) as held`)
      if (!lock.rows[0]?.held) {
        await client.query('rollback')
        await setTimeout(pauseMs)
        return false
      }
      const schema = schemaOf(pool)
      const applied = `select from ledger.migration where id = ${migration.id}`
      const before = await client.query(inSchemaText(applied, schema))
      if (before.rowCount === 0) {
        await runAlone(pool, migration)
        const { id, name, oldestBinary } = migration
        await client.query(inSchemaText(RECORD, schema), [id, name, oldestBinary])
      }
      await client.query('commit')
      return before.rowCount === 0
    },
    // This transaction is idle for as long as the index takes.
    { idleMs: 0 },
  )
}

const IS_INVALID = `
  select from pg_index i join pg_class c on c.oid = i.indexrelid
  where c.relname = $1 and c.relnamespace = to_regnamespace($2) and not i.indisvalid`

/** Uses a connection outside the pool, which may be limited to one. */
async function runAlone(
  pool: Pool,
  { concurrentIndex, sql }: { readonly concurrentIndex: string; readonly sql: string },
): Promise<void> {
  const { options } = pool
  const schema = schemaOf(pool)
  // pg hides the password from a copy of the options.
  const client = new pg.Client({
    ...options,
    ...(options.password === undefined ? {} : { password: options.password }),
  })
  // A connection that breaks also fails its query, which reports it.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const invalid = await client.query(IS_INVALID, [concurrentIndex, schema])
    if (invalid.rowCount !== 0)
      await client.query(inSchemaText(`drop index concurrently if exists ledger.${concurrentIndex}`, schema))
    await client.query(inSchemaText(sql, schema))
  } finally {
    await client.end()
  }
}
