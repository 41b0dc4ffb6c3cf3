/** The input of every function in this folder. */
export type { LedgerTables } from '../ledger/ledger.ts'
export type { Ledgers } from '../ledger/ledger-set.ts'
