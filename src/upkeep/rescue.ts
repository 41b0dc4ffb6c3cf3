import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { retryConflicts } from '../ledger/driver/sql-state.ts'
import { markOpenCallsUnknown } from '../ledger/effects/effects.ts'
import { type Rescue, type Rescued, rescueJobs } from '../ledger/jobs/rescue.ts'
import { deadWorkers, forgetWorkers } from '../ledger/jobs/workers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type RescuedLane, rescueLanes } from '../ledger/outbox/lanes.ts'
import type { Observer, RescueFact } from '../observe/observer.ts'
import type { Chore } from './chore.ts'

/** Added to the lease, so that a heartbeat in transit still counts. */
const GRACE_MS = 1_000
/** Few rows per statement, so that locks are short. */
const BATCH = 500

interface RescueChoreOptions {
  readonly leaseMs: number
  readonly observer: Observer
  /** How long this process has reached the ledger without interruption. */
  readonly contactMs: () => number
}

export function rescueChore(
  ledger: LedgerTables,
  { leaseMs, observer, contactMs }: RescueChoreOptions,
): Chore {
  return {
    name: 'rescue',
    everyMs: leaseMs / 3,
    run: async () => ({ rescued: await rescue(ledger, { observer, contactMs: contactMs() }) }),
  }
}

export interface RescueOptions {
  readonly observer: Observer
  /** How long this process has reached the ledger without interruption. */
  readonly contactMs: number
}

/** Takes jobs and outbox lanes back from dead workers. Returns their number. */
export async function rescue(ledger: LedgerTables, { observer, contactMs }: RescueOptions): Promise<number> {
  const dead = await deadWorkers(ledger.pool, { graceMs: GRACE_MS, contactMs })
  let count = 0
  for (const isCrash of [true, false]) {
    const ids = dead.filter((worker) => worker.isCrash === isCrash).map(({ id }) => id)
    if (ids.length > 0) count += await rescueFrom(ledger, { deadWorkers: ids, isCrash, observer })
  }
  if (dead.length > 0)
    await forgetWorkers(
      ledger.pool,
      dead.map(({ id }) => id),
    )
  return count
}

interface DeadWorkers {
  readonly deadWorkers: readonly number[]
  readonly isCrash: boolean
  readonly observer: Observer
}

async function rescueFrom({ pool, shards }: LedgerTables, dead: DeadWorkers): Promise<number> {
  const { observer, ...workers } = dead
  let count = 0
  for (let shard = 0; shard < shards; shard += 1) {
    const question = { ...workers, shard, limit: BATCH }
    count += await inBatches(async () => {
      const rescued = await rescueOrphans({ pool, shards }, question)
      for (const job of rescued) observer.rescue(factOf(job))
      return rescued.length
    })
    count += await inBatches(async () => {
      const rescued = await rescueLanes(pool, question)
      for (const lane of rescued) reportLane(lane, observer)
      return rescued.length
    })
  }
  return count
}

/**
 * Rescues the jobs of dead workers in one shard. A job that crashed too many workers, but has an
 * open call, needs a person: its open calls become `unknown`. If this process dies before that, the
 * job is still in `attention`, and the call that it waits for is listed and can be decided.
 */
export async function rescueOrphans({ pool, shards }: LedgerTables, question: Rescue): Promise<Rescued[]> {
  const rescued = await rescueJobs(pool, question)
  const reason = 'it was called, no reply was recorded, and too many workers died while running its job'
  for (const job of rescued.filter(({ needsPerson }) => needsPerson)) {
    // It locks several effects, and so may an operator's decision.
    await retryConflicts(() =>
      inTransaction(pool, async (client) => {
        await markOpenCallsUnknown(client, { shards, job, reason })
        await client.query('commit')
      }),
    )
  }
  return rescued
}

function factOf(job: Rescued): RescueFact {
  const { receiptId, attempt, buried, needsPerson } = job
  return {
    receiptId,
    source: job.source ?? undefined,
    subscriber: job.subscriberName ?? undefined,
    eventKey: job.eventKey ?? undefined,
    eventType: job.eventType ?? undefined,
    objectId: job.objectId ?? undefined,
    attempt,
    buried,
    needsPerson,
  }
}

async function inBatches(rescueSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = BATCH; batch === BATCH; ) {
    batch = await rescueSome()
    total += batch
  }
  return total
}

function reportLane({ messageId, topic, key, attempt, buried }: RescuedLane, observer: Observer): void {
  if (messageId === null) return
  const fact = { messageId, topic, key, attempt, durationMs: 0 }
  observer.message({ ...fact, outcome: 'crashed' })
  if (buried)
    observer.message({
      ...fact,
      outcome: 'failed',
      error: new Error('too many relays died while publishing it'),
    })
}
