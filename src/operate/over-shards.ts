import type { LedgerTables } from '../ledger/ledger.ts'

/** A query of one shard. */
export interface ShardQuestion {
  readonly shard: number
  readonly limit: number
}

/**
 * Queries one shard after the other, until `limit` items are found. Adds the shard to each item.
 */
export async function overShards<Item extends object>(
  { shards }: Pick<LedgerTables, 'shards'>,
  limit: number,
  ask: (question: ShardQuestion) => Promise<readonly Item[]>,
): Promise<(Item & { readonly shard: number })[]> {
  const found: (Item & { readonly shard: number })[] = []
  for (let shard = 0; shard < shards && found.length < limit; shard += 1) {
    const items = await ask({ shard, limit: limit - found.length })
    found.push(...items.map((item) => ({ ...item, shard })))
  }
  return found
}

/** Reports the progress of work on many items to the caller, which may stop it. */
export interface WorkWatch {
  readonly signal?: AbortSignal
  readonly onProgress?: (step: { readonly done: number; readonly total: number }) => void
}
