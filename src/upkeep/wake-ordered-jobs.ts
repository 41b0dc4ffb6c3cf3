import { idleOrderKeys, releaseNextJobs } from '../ledger/jobs/order.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Chore } from './chore.ts'

const BATCH = 500

/** An order key whose next job was not made due when the one before it ended waits this long. */
export function wakeOrderedJobsChore(ledger: LedgerTables, leaseMs: number): Chore {
  return {
    name: 'wake-ordered-jobs',
    everyMs: leaseMs / 3,
    run: async () => ({ jobs: await wakeOrderedJobs(ledger) }),
  }
}

/** Makes the next job of each order key due, where nothing else did. Returns how many jobs. */
async function wakeOrderedJobs(ledger: LedgerTables): Promise<number> {
  let count = 0
  for (let shard = 0; shard < ledger.shards; shard += 1) {
    const idle = await idleOrderKeys(ledger.pool, shard, BATCH)
    count += await releaseNextJobs(ledger, idle)
  }
  return count
}
