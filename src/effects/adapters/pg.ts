import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../ledger/driver/in-transaction.ts'
import type { TransactionAdapter } from './contract.ts'

/**
 * A pool of node-postgres.
 *
 * ```ts
 * const on = pgAdapter(pool)
 * await ctx.transaction(async (tx, client) => void (await client.query('insert …')), { on })
 * ```
 */
export function pgAdapter(pool: Pool): TransactionAdapter<PoolClient> {
  return {
    transaction: (work) =>
      inTransaction(pool, async (client) => {
        const result = await work(
          client,
          async (text, values) => (await client.query(text, [...values])).rows,
        )
        await client.query('commit')
        return result
      }),
  }
}
