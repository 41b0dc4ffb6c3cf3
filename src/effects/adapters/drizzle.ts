import { type SQL, sql } from 'drizzle-orm'
import type { TransactionAdapter } from './contract.ts'

/** A database of Drizzle on PostgreSQL, whatever its driver. */
interface DrizzleDatabase<Transaction, Config> {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, config?: Config): Promise<Result>
}

/**
 * A database of Drizzle.
 *
 * ```ts
 * const on = drizzleAdapter(database)
 * await ctx.transaction(
 *   async (tx, db) => void (await db.insert(payments).values({ invoice })),
 *   { on },
 * )
 * ```
 */
export function drizzleAdapter<Transaction extends { execute(query: SQL): PromiseLike<unknown> }, Config>(
  db: DrizzleDatabase<Transaction, Config>,
  config?: Config,
): TransactionAdapter<Transaction> {
  return {
    transaction: (work) =>
      db.transaction(
        (tx) => work(tx, async (text, values) => rowsOf(await tx.execute(composed(text, values)))),
        config,
      ),
  }
}

/** Drivers differ: they return the rows, or a result that holds them. */
function rowsOf(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result
  const { rows } = result as { rows: readonly unknown[] }
  return rows
}

/** Drizzle numbers parameters itself, so the statement is built from the text between them. */
function composed(text: string, values: readonly unknown[]): SQL {
  const parts = text.split(/\$(\d+)/)
  return sql.join(
    parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`)),
  )
}
