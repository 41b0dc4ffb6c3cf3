import type { LedgerTables } from './ledger.ts'

/** One of several ledgers. */
export interface LedgerMember {
  readonly name: string
  /** Opens the ledger at the first use. Rejects while its server is down. */
  tables(): Promise<LedgerTables>
}

/** Several ledgers, for operators. */
export interface LedgerSet {
  /** The home ledger first. */
  readonly members: readonly LedgerMember[]
  /** Called with each ledger that could not be read, so that its absence is reported. */
  onUnreachable?(name: string, error: unknown): void
}

/** One ledger, or several. */
export type Ledgers = LedgerTables | LedgerSet

export function isSet(ledgers: Ledgers): ledgers is LedgerSet {
  return 'members' in ledgers
}
