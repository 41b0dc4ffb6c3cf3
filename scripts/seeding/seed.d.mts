import type { Pool } from 'pg'

export interface SeedOptions {
  /** How many receipts. */
  readonly receipts: number
  /** The same number makes the same events. */
  readonly seed?: number
  /** The time of the newest event. */
  readonly now?: Date
  /** Called after each batch with the number of receipts so far. */
  readonly onProgress?: (receipts: number) => void
}

/** Fills an empty, migrated ledger with events as a shop would have them. Uses two connections. */
export function seedLedger(pool: Pool, options: SeedOptions): Promise<void>
