import { idleOrderKeys, releaseNextJobs } from '../ledger/jobs/order.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Chore } from './chore.ts'

const BATCH = 500

/** If a process failed to make the next job of an order key due, the job waits this long. */
export function wakeOrderedJobsChore(ledger: LedgerTables, leaseMs: number): Chore {
  return {
    name: 'wake-ordered-jobs',
    everyMs: leaseMs / 3,
    run: async () => ({ jobs: await wakeOrderedJobs(ledger) }),
  }
}

/**
 * Makes the next job of each order key due, if no process has done so. Returns the number of jobs.
 */
async function wakeOrderedJobs(ledger: LedgerTables): Promise<number> {
  let count = 0
  for (let shard = 0; shard < ledger.shards; shard += 1) {
    const idle = await idleOrderKeys(ledger.pool, shard, BATCH)
    count += await releaseNextJobs(ledger, idle)
  }
  return count
}
