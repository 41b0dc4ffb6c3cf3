/**
 * Sends one of our statements through the library's transaction, and returns its rows as objects.
 * Parameters are numbers, strings, booleans, buffers and null.
 */
export type AdapterQuery = (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>

/**
 * A transaction of your own library. Our records are committed in it: your writes and the record
 * that they are done happen together or not at all. It must be on the ledger's database.
 */
export interface TransactionAdapter<Native> {
  /** Commits when `work` returns, rolls back when it throws. */
  transaction<Result>(work: (native: Native, query: AdapterQuery) => Promise<Result>): Promise<Result>
}
