/** What every function of this folder works on. */
export type { LedgerTables } from '../ledger/ledger.ts'
