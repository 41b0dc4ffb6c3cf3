import { CompiledQuery, type IsolationLevel, type Kysely, type Transaction } from 'kysely'
import type { TransactionAdapter } from './contract.ts'

/**
 * A database of Kysely.
 *
 * ```ts
 * const on = kyselyAdapter(database)
 * await ctx.transaction(
 *   async (tx, db) => void (await db.insertInto('payment').values({ invoice }).execute()),
 *   { on },
 * )
 * ```
 */
export function kyselyAdapter<Tables>(
  db: Kysely<Tables>,
  { isolationLevel }: { readonly isolationLevel?: IsolationLevel } = {},
): TransactionAdapter<Transaction<Tables>> {
  return {
    transaction: (work) => {
      const begin = isolationLevel ? db.transaction().setIsolationLevel(isolationLevel) : db.transaction()
      return begin.execute((trx) =>
        work(
          trx,
          async (text, values) => (await trx.executeQuery(CompiledQuery.raw(text, [...values]))).rows,
        ),
      )
    },
  }
}
