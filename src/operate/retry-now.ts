import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { type RetryingJob, retryingJobs, retryNow as retryJobs } from '../ledger/jobs/retry-now.ts'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { announceWork } from './announce.ts'
import type { DecisionReason } from './audit.ts'
import { listLimits } from './limits.ts'
import { overShards, type WorkWatch } from './over-shards.ts'
import { listPaused, type Paused } from './pause.ts'
import { actWherePlanned, type OfLedger, planEverywhere } from './planned-jobs.ts'
import type { OpenCircuit } from './status.ts'

/** Selects among the jobs that wait for their next attempt. */
export interface RetryFilter {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** Only the jobs of this event. */
  readonly receiptId?: string | undefined
  readonly limit: number
}

type PlannedRetry = RetryingJob & OfLedger & { readonly shard: number }

/** The work that `retryNow` would do. */
export interface RetryPlan {
  readonly jobs: readonly PlannedRetry[]
  /** Subscribers whose jobs would still wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
  /** Pauses that hold some of the jobs. */
  readonly paused: readonly Paused[]
  /** Circuits that hold some of the jobs. */
  readonly circuits: readonly OpenCircuit[]
}

async function planIn(ledger: LedgerTables, filter: RetryFilter): Promise<RetryPlan> {
  const jobs = await overShards(ledger, filter.limit, (question) =>
    retryingJobs(ledger.pool, { ...filter, ...question }),
  )
  const isOf = (one: { tenant: string; source: string; subscriber: string | null }): boolean =>
    jobs.some(
      ({ tenant, source, name }) =>
        tenant === one.tenant && source === one.source && (one.subscriber ?? name) === name,
    )
  return {
    jobs,
    unattended: await unattendedSubscribers(
      ledger.pool,
      jobs.map(({ subscriber }) => subscriber),
    ),
    paused: (await listPaused(ledger)).filter(isOf),
    circuits: (await listLimits(ledger)).flatMap(({ circuit, rate: _, ...one }) =>
      circuit && circuit.state !== 'closed' && isOf(one) ? [{ ...one, circuit }] : [],
    ),
  }
}

export const planRetryNow = planEverywhere(
  planIn,
  ({ limit }: RetryFilter) => limit,
  (all, jobs) => ({
    jobs,
    unattended: all.flatMap(({ unattended }) => unattended),
    paused: all.flatMap(({ paused }) => paused),
    circuits: all.flatMap(({ circuits }) => circuits),
  }),
)

/** Few jobs per commit, so that locks are short and the progress is visible. */
const BATCH = 100

async function retryIn(
  ledger: LedgerTables,
  { jobs }: RetryPlan,
  reason: DecisionReason,
  { signal, onProgress }: WorkWatch = {},
): Promise<number> {
  const { by: actor, why, address } = reason
  let retried = 0
  for (let from = 0; from < jobs.length; from += BATCH) {
    if (signal?.aborted) break
    onProgress?.({ done: from, total: jobs.length })
    const batch = jobs.slice(from, from + BATCH)
    retried += await inTransaction(ledger.pool, async (client) => {
      let count = 0
      for (const [shard, ofShard] of groupBy(batch, (job) => job.shard))
        count += await retryJobs(client, shard, ofShard)
      if (count > 0)
        for (const [tenant, ofTenant] of groupBy(batch, (job) => job.tenant))
          await recordAudit(client, { ...entryOf(tenant, ofTenant), actor, why, address })
      await client.query('commit')
      return count
    })
  }
  if (retried > 0) announceWork(ledger)
  return retried
}

/**
 * Makes the jobs of a plan due now. Their attempts stay counted, and finished work is not repeated.
 * Returns the number of changed jobs: jobs that have started or ended since the plan do not change.
 * If a stop is requested, ends after the current commit.
 */
export const retryNow = actWherePlanned(retryIn)

function entryOf(tenant: string, jobs: readonly PlannedRetry[]) {
  const receipts = new Set(jobs.map(({ receiptId }) => receiptId))
  const [only] = receipts
  const subject = receipts.size === 1 && only !== undefined ? only : 'retrying jobs'
  return { tenant, subject, action: 'retry-now', detail: { jobs: jobs.length } }
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
