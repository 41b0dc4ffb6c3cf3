import type { LedgerTables } from '../ledger/ledger.ts'
import { type RescuedLane, rescueLanes } from '../ledger/outbox-lanes.ts'
import { rescueJobs } from '../ledger/rescue-jobs.ts'
import { deadWorkers, forgetWorkers } from '../ledger/workers.ts'
import type { Observer } from '../observe/observer.ts'

/** On top of the lease, for a heartbeat that is on its way. */
const GRACE_MS = 1_000
const BATCH = 500
/** A payload that kills its process is found out by then; a fourth crash would teach nothing new. */
const POISON_CRASHES = 3

/** Takes back what dead workers held: jobs and lanes of the outbox. Any process may do it, and all of them at once. */
export async function rescue({ pool, shards }: LedgerTables, observer: Observer): Promise<number> {
  const dead = await deadWorkers(pool, GRACE_MS)
  if (dead.length === 0) return 0
  let count = 0
  for (let shard = 0; shard < shards; shard += 1) {
    const question = { shard, deadWorkers: dead, limit: BATCH, poisonCrashes: POISON_CRASHES }
    count += await inBatches(async () => {
      const rescued = await rescueJobs(pool, question)
      for (const fact of rescued) observer.rescue(fact)
      return rescued.length
    })
    count += await inBatches(async () => {
      const rescued = await rescueLanes(pool, question)
      for (const lane of rescued) tellOf(lane, observer)
      return rescued.length
    })
  }
  await forgetWorkers(pool, dead)
  return count
}

async function inBatches(rescueSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = BATCH; batch === BATCH; ) {
    batch = await rescueSome()
    total += batch
  }
  return total
}

function tellOf({ messageId, topic, attempt, buried }: RescuedLane, observer: Observer): void {
  if (messageId === null) return
  const fact = { messageId, topic, key: null, attempt, durationMs: 0 }
  observer.message({ ...fact, outcome: 'crashed' })
  if (buried)
    observer.message({ ...fact, outcome: 'failed', error: new Error('its relay died with it too often') })
}
