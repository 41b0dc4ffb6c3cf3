import { markOpenCallsUnknown } from '../ledger/effects.ts'
import { inTransaction } from '../ledger/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type RescuedLane, rescueLanes } from '../ledger/outbox-lanes.ts'
import { type Rescue, type Rescued, rescueJobs } from '../ledger/rescue-jobs.ts'
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
      const rescued = await rescueOrphans({ pool, shards }, question)
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

/**
 * Rescues the jobs of dead workers in one shard. Of a job that would have been buried, but for an open call, all open calls
 * become unknown. A process that dies before that leaves the job in `attention`, where it is listed and can be let go.
 */
export async function rescueOrphans({ pool, shards }: LedgerTables, question: Rescue): Promise<Rescued[]> {
  const rescued = await rescueJobs(pool, question)
  const reason = 'it was called, no reply was recorded, and its worker died with it too often'
  for (const job of rescued.filter(({ needsPerson }) => needsPerson)) {
    await inTransaction(pool, async (client) => {
      await markOpenCallsUnknown(client, { shards, job, reason })
      await client.query('commit')
    })
  }
  return rescued
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
