import { announcer } from '../ledger/jobs/announce.ts'
import type { LedgerTables } from './tables.ts'

/** Makes the workers of all processes look for jobs now. Otherwise they look within a second. */
export function announceWork({ pool }: LedgerTables): void {
  announcer(pool)()
}
