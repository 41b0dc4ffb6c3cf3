import type { LedgerTables } from '../ledger/ledger.ts'
import { addUpFailures, failureCountWork, recountFailures } from '../ledger/stats/failure-counts.ts'
import type { Chore } from './chore.ts'

/** Until the next run, each reader itself adds the new failures. */
const EVERY_MS = 5_000
/** Notes per transaction, and transactions per run: 20,000 failures per second and process. */
const BATCH = 5_000
const MAX_BATCHES = 20
/**
 * The counts are right while the ledger's triggers work. A recount corrects changes made while the
 * triggers were turned off.
 */
const RECOUNT_EVERY_HOURS = 24
/** A recount of this many jobs takes some seconds of reading. */
const MAX_RECOUNTED = 300_000

export function countFailuresChore(ledger: LedgerTables): Chore {
  return {
    name: 'count-failures',
    everyMs: EVERY_MS,
    run: async () => ({ ...(await countFailures(ledger)) }),
  }
}

export interface CountedFailures {
  /** Changes that were added to the counts. */
  readonly changes: number
  /** Subscribers whose failed jobs were counted one by one. */
  readonly recounted: number
}

/** Adds new failures and replays to the counts of failed jobs, and recounts periodically. */
export async function countFailures({ pool, shards }: LedgerTables): Promise<CountedFailures> {
  const limits = { everyHours: RECOUNT_EVERY_HOURS, maxJobs: MAX_RECOUNTED }
  const { hasChanges, toRecount } = await failureCountWork(pool, limits)
  let changes = 0
  for (let batch = 0; hasChanges && batch < MAX_BATCHES; batch += 1) {
    const added = await addUpFailures(pool, BATCH)
    changes += added
    if (added < BATCH) break
  }
  const wasRecounted = toRecount !== null && (await recountFailures(pool, shards, toRecount))
  return { changes, recounted: wasRecounted ? 1 : 0 }
}
