import type { TransactionAdapter } from './contract.ts'

interface PrismaClient<Transaction, Options> {
  $transaction<Result>(work: (tx: Transaction) => Promise<Result>, options?: Options): Promise<Result>
}

interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/**
 * A client of Prisma. Its interactive transactions end after five seconds unless you set `timeout`.
 *
 * ```ts
 * const on = prismaAdapter(prisma)
 * await ctx.transaction(
 *   async (tx, db) => void (await db.payment.create({ data: { invoice } })),
 *   { on },
 * )
 * ```
 */
export function prismaAdapter<Transaction extends PrismaTransaction, Options>(
  client: PrismaClient<Transaction, Options>,
  options?: Options,
): TransactionAdapter<Transaction> {
  return {
    transaction: (work) =>
      client.$transaction(
        // Awaited here, because a promise of Prisma does nothing until it is awaited.
        (tx) => work(tx, async (text, values) => (await tx.$queryRawUnsafe(text, ...values)) as unknown[]),
        options,
      ),
  }
}
