import type { DataSource, EntityManager } from 'typeorm'
import type { TransactionAdapter } from './contract.ts'

/** The names that TypeORM uses, in any of its versions. */
type IsolationLevel = Extract<Parameters<DataSource['transaction']>[0], string>

/**
 * A data source of TypeORM.
 *
 * ```ts
 * const on = typeormAdapter(dataSource)
 * await ctx.transaction(
 *   async (tx, manager) => void (await manager.insert(Payment, { invoice })),
 *   { on },
 * )
 * ```
 */
export function typeormAdapter(
  dataSource: DataSource,
  { isolationLevel }: { readonly isolationLevel?: IsolationLevel } = {},
): TransactionAdapter<EntityManager> {
  return {
    transaction: (work) => {
      const inside = (manager: EntityManager): ReturnType<typeof work> =>
        work(manager, async (text, values) => {
          const found = await manager.query<unknown[]>(text, [...values])
          // The rows of an UPDATE come with their count.
          return Array.isArray(found[0]) ? found[0] : found
        })
      return isolationLevel ? dataSource.transaction(isolationLevel, inside) : dataSource.transaction(inside)
    },
  }
}
