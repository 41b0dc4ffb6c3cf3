/**
 * Sends one of our statements through somebody else's transaction, and returns its rows by column. The parameters are
 * numbers, strings, booleans, buffers and null.
 */
export type AdapterQuery = (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>

/**
 * A transaction of your own library, in which our records are committed: the writes that you make through it and
 * "this is done" happen together or not at all. It must be on the ledger's database.
 */
export interface TransactionAdapter<Native> {
  /** Commits when `work` returns, rolls back when it throws. */
  transaction<Result>(work: (native: Native, query: AdapterQuery) => Promise<Result>): Promise<Result>
}
