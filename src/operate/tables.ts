/** The input of every function in this folder. */
export type { LedgerTables } from '../ledger/ledger.ts'
export { isSet, type Ledgers } from '../ledger/ledger-set.ts'
