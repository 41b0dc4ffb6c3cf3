import type { LedgerTables } from '../ledger/ledger.ts'
import { markBodiesSwept, sweepBodies, sweepKeys } from '../ledger/receipts/retention.ts'
import { BATCH, inBatches } from './batches.ts'
import type { Chore } from './chore.ts'

const EVERY_MS = 60_000

export function pruneReceiptsChore(ledger: LedgerTables): Chore {
  return {
    name: 'prune-receipts',
    everyMs: EVERY_MS,
    run: async () => ({ ...(await pruneReceipts(ledger)) }),
  }
}

export interface PrunedReceipts {
  readonly bodies: number
  readonly receipts: number
}

/** Deletes bodies and receipts that are past their retention. */
export async function pruneReceipts({ pool, shards }: LedgerTables): Promise<PrunedReceipts> {
  let bodies = 0
  let receipts = 0
  for (let shard = 0; shard < shards; shard += 1) {
    bodies += await inBatches(() => sweepBodies(pool, shard, BATCH))
    await markBodiesSwept(pool, shard)
    receipts += await inBatches(() => sweepKeys(pool, shard, BATCH))
  }
  return { bodies, receipts }
}
