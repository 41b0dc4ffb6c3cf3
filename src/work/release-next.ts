import { releaseNextJobs } from '../ledger/jobs/order.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type GroupCommit, groupCommit } from './group-commit.ts'

export interface NextJobsOptions {
  /** Called when jobs became due. */
  readonly onDue: () => void
  readonly onTrouble: (error: unknown) => void
}

/** One transaction locks at most this many order keys. */
const MAX_BATCH = 256

/**
 * Makes the next job of each added order key due, in batches. A failure here is safe: periodic
 * upkeep releases the jobs of missed keys.
 */
export function nextJobs(ledger: LedgerTables, options: NextJobsOptions): GroupCommit<string, void> {
  return groupCommit(
    async (orderKeys: readonly string[]) => {
      await releaseNextJobs(ledger, orderKeys).then(
        (count) => count > 0 && options.onDue(),
        (error: unknown) => options.onTrouble(error),
      )
      return orderKeys.map(() => undefined)
    },
    { maxItems: MAX_BATCH },
  )
}
