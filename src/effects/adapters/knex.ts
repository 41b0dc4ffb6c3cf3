import type { Knex } from 'knex'
import type { TransactionAdapter } from './contract.ts'

/**
 * A Knex.
 *
 * ```ts
 * const on = knexAdapter(knex)
 * await ctx.transaction(async (tx, trx) => void (await trx('payment').insert({ invoice })), { on })
 * ```
 */
export function knexAdapter(
  knex: Knex,
  config?: Knex.TransactionConfig,
): TransactionAdapter<Knex.Transaction> {
  return {
    transaction: (work) =>
      knex.transaction(
        (trx) =>
          work(trx, async (text, values) => {
            // Knex knows positional parameters only.
            const places = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1)
            const bindings = places.map((place) => values[place]) as Knex.RawBinding[]
            const { rows } = await trx.raw<{ rows: unknown[] }>(text.replaceAll(/\$\d+/g, '?'), bindings)
            return rows
          }),
        config,
      ),
  }
}
