import type { LedgerTables } from '../ledger/ledger.ts'
import { sweepMessages } from '../ledger/outbox/messages.ts'
import { markBodiesSwept, sweepBodies, sweepKeys } from '../ledger/receipts/retention.ts'

/** Small, so that no lock is held for long and vacuum can keep up. */
const BATCH = 500
/** A long-neglected ledger is worked off over several rounds, not in one. */
const MAX_BATCHES_A_SHARD = 20

export interface Pruned {
  readonly bodies: number
  readonly receipts: number
}

/** Sweeps what is past its retention. Any process may do it, and all of them at once. */
export async function prune({ pool, shards }: LedgerTables): Promise<Pruned> {
  let bodies = 0
  let receipts = 0
  for (let shard = 0; shard < shards; shard += 1) {
    bodies += await inBatches(() => sweepBodies(pool, shard, BATCH))
    await markBodiesSwept(pool, shard)
    receipts += await inBatches(() => sweepKeys(pool, shard, BATCH))
  }
  return { bodies, receipts }
}

/** Sweeps finished messages of the outbox that were kept long enough. */
export async function pruneOutbox({ pool, shards }: LedgerTables, keepMs: number): Promise<number> {
  let messages = 0
  for (let shard = 0; shard < shards; shard += 1) {
    messages += await inBatches(() => sweepMessages(pool, { shard, keepMs, limit: BATCH }))
  }
  return messages
}

async function inBatches(sweep: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = 0; batch < MAX_BATCHES_A_SHARD; batch += 1) {
    const swept = await sweep()
    total += swept
    if (swept < BATCH) break
  }
  return total
}
