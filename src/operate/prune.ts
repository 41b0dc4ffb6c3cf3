import type { LedgerTables } from '../ledger/ledger.ts'
import { countMessages, sweepMessages } from '../ledger/outbox/messages.ts'
import {
  countBodies,
  countKeys,
  markBodiesSwept,
  sweepBodies,
  sweepKeys,
} from '../ledger/receipts/retention.ts'
import { BATCH } from '../upkeep/batches.ts'
import { pruneStats } from '../upkeep/prune-stats.ts'
import { everywhere } from './across.ts'

/*
 * Applies the retention now: deletes everything that the chores of upkeep would delete over several
 * runs.
 */

/** The number of rows of each kind. */
export interface PruneCounts {
  readonly bodies: number
  readonly receipts: number
  readonly messages: number
}

export interface PruneOptions {
  /**
   * Finished outbox messages older than this are deleted. Undefined: they stay, because only the
   * process that relays them knows their retention.
   */
  readonly keepMessagesMs?: number | undefined
}

export interface PruneWatch {
  readonly signal?: AbortSignal
  /** The total is undefined if it is unknown. */
  readonly onProgress?: (step: { readonly done: number; readonly total: number | undefined }) => void
}

export interface Pruned extends PruneCounts {
  /** Old buckets of the statistics, and resolved alerts. */
  readonly buckets: number
  readonly alerts: number
}

export interface PrunePlan extends PruneCounts {
  /** False: there are more rows than were counted. */
  readonly isComplete: boolean
}

/**
 * The limit on counted rows of each shard and kind. A larger count could exceed the timeout of a
 * statement.
 */
const MAX_COUNTED = 100_000

async function planPruneIn(
  { pool, shards }: LedgerTables,
  { keepMessagesMs }: PruneOptions = {},
): Promise<PrunePlan> {
  const plan = { bodies: 0, receipts: 0, messages: 0, isComplete: true }
  const limit = MAX_COUNTED
  const add = (what: keyof PruneCounts, count: number): void => {
    plan[what] += count
    if (count >= limit) plan.isComplete = false
  }
  for (let shard = 0; shard < shards; shard += 1) {
    add('bodies', await countBodies(pool, shard, limit))
    add('receipts', await countKeys(pool, shard, limit))
    if (keepMessagesMs !== undefined)
      add('messages', await countMessages(pool, { shard, keepMs: keepMessagesMs, limit }))
  }
  return plan
}

/** Counts the rows that `prune` would delete. A receipt whose body is also due counts twice. */
export const planPrune = everywhere(planPruneIn, (all) => ({
  ...addUp(all),
  isComplete: all.every(({ isComplete }) => isComplete),
}))

async function pruneIn(
  ledger: LedgerTables,
  plan: PrunePlan & PruneOptions,
  { signal, onProgress }: PruneWatch = {},
): Promise<Pruned> {
  const { pool, shards } = ledger
  const { keepMessagesMs } = plan
  const done = { bodies: 0, receipts: 0, messages: 0 }
  const total = plan.bodies + plan.receipts + plan.messages

  async function sweepAll(what: keyof PruneCounts, sweep: () => Promise<number>): Promise<void> {
    for (let swept = BATCH; swept === BATCH && !signal?.aborted; ) {
      swept = await sweep()
      done[what] += swept
      const all = done.bodies + done.receipts + done.messages
      onProgress?.({ done: all, total: plan.isComplete ? Math.max(total, all) : undefined })
    }
  }

  for (let shard = 0; shard < shards && !signal?.aborted; shard += 1) {
    await sweepAll('bodies', () => sweepBodies(pool, shard, BATCH))
    await markBodiesSwept(pool, shard)
    await sweepAll('receipts', () => sweepKeys(pool, shard, BATCH))
    if (keepMessagesMs !== undefined)
      await sweepAll('messages', () => sweepMessages(pool, { shard, keepMs: keepMessagesMs, limit: BATCH }))
  }
  const stats = signal?.aborted ? { buckets: 0, alerts: 0 } : await pruneStats(ledger)
  return { ...done, ...stats }
}

/**
 * Deletes rows past their retention, in small transactions. Workers may run at the same time:
 * locked rows are skipped. If a stop is requested, ends after the current batch.
 */
export const prune = everywhere(pruneIn, (all) => ({
  ...addUp(all),
  buckets: all.reduce((sum, { buckets }) => sum + buckets, 0),
  alerts: all.reduce((sum, { alerts }) => sum + alerts, 0),
}))

function addUp(all: readonly PruneCounts[]): PruneCounts {
  const sum = (of: keyof PruneCounts): number => all.reduce((total, counts) => total + counts[of], 0)
  return { bodies: sum('bodies'), receipts: sum('receipts'), messages: sum('messages') }
}
