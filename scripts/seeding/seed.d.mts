import type { Pool } from 'pg'

export interface SeedOptions {
  /** The number of receipts. */
  readonly receipts: number
  /** The seed: the same number makes the same events. */
  readonly seed?: number
  /** The time of the newest event. */
  readonly now?: Date
  /** Called after each batch with the number of receipts so far. */
  readonly onProgress?: (receipts: number) => void
}

/** Fills an empty, migrated ledger with the events of an invented shop. Uses two connections. */
export function seedLedger(pool: Pool, options: SeedOptions): Promise<void>
