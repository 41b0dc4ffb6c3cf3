import type { LedgerTables } from '../ledger/ledger.ts'
import { sweepMessages } from '../ledger/outbox/messages.ts'
import { BATCH, inBatches } from './batches.ts'
import type { Chore } from './chore.ts'

const EVERY_MS = 60_000

export function pruneOutboxChore(ledger: LedgerTables, keepMs: number): Chore {
  return {
    name: 'prune-outbox',
    everyMs: EVERY_MS,
    run: async () => ({ messages: await pruneOutbox(ledger, keepMs) }),
  }
}

/** Deletes finished outbox messages older than `keepMs`. Returns their number. */
export async function pruneOutbox({ pool, shards }: LedgerTables, keepMs: number): Promise<number> {
  let messages = 0
  for (let shard = 0; shard < shards; shard += 1) {
    messages += await inBatches(() => sweepMessages(pool, { shard, keepMs, limit: BATCH }))
  }
  return messages
}
