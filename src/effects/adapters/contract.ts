/**
 * Sends one statement of hookonce through the library's transaction, and returns its rows as
 * objects. Parameters are numbers, strings, booleans, buffers and null.
 */
export type AdapterQuery = (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>

/**
 * A transaction of the application's own library. hookonce commits its records in it: the business
 * writes and the record of their completion are committed together or not at all. It must be on the
 * ledger's database.
 */
export interface TransactionAdapter<Native> {
  /** Commits when `work` returns, rolls back when it throws. */
  transaction<Result>(work: (native: Native, query: AdapterQuery) => Promise<Result>): Promise<Result>
}
