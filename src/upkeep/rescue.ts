import { rescueJobs } from '../ledger/jobs.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { deadWorkers, forgetWorkers } from '../ledger/workers.ts'
import type { Observer } from '../observe/observer.ts'

/** On top of the lease, for a heartbeat that is on its way. */
const GRACE_MS = 1_000
const BATCH = 500
/** A payload that kills its process is found out by then; a fourth crash would teach nothing new. */
const POISON_CRASHES = 3

/** Takes the jobs of dead workers back. Any process may do it, and all of them at once. */
export async function rescue({ pool, shards }: LedgerTables, observer: Observer): Promise<number> {
  const dead = await deadWorkers(pool, GRACE_MS)
  if (dead.length === 0) return 0
  let count = 0
  for (let shard = 0; shard < shards; shard += 1) {
    let batch = BATCH
    while (batch === BATCH) {
      const rescued = await rescueJobs(pool, {
        shard,
        deadWorkers: dead,
        limit: BATCH,
        poisonCrashes: POISON_CRASHES,
      })
      for (const fact of rescued) observer.rescue(fact)
      batch = rescued.length
      count += batch
    }
  }
  await forgetWorkers(pool, dead)
  return count
}
