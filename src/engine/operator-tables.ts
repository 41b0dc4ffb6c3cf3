import type { Ledger, LedgerTables } from '../ledger/ledger.ts'

/** A ledger on the operators' connections. */
export function operatorTables({ operators, shards, vault }: Ledger): LedgerTables {
  return { pool: operators, shards, vault }
}
