import { idleOrderKeys, releaseNextJobs } from '../ledger/jobs/order.ts'
import type { LedgerTables } from '../ledger/ledger.ts'

const BATCH = 500

/** Passes on the lanes that nobody else did. Returns how many jobs became due. */
export async function wakeLanes(ledger: LedgerTables): Promise<number> {
  let count = 0
  for (let shard = 0; shard < ledger.shards; shard += 1) {
    const resting = await idleOrderKeys(ledger.pool, shard, BATCH)
    count += await releaseNextJobs(ledger, resting)
  }
  return count
}
