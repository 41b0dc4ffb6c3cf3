import type { Pool } from 'pg'
import { countDuplicates, type DuplicateCount } from '../ledger/duplicates.ts'
import type { NewReceipt } from '../ledger/receipts.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * Counts further deliveries of known events. The sender is not kept waiting for a counter: its event is durable
 * already. Counts of one event add up here until the next write; a crash may lose the last of them, and never
 * more than a count.
 */
export interface DuplicateTally {
  add(receipt: Omit<NewReceipt, 'jobs'>, kind: 'duplicate' | 'mismatch'): void
  idle(): Promise<void>
}

const NO_HASH = new Uint8Array()

export function duplicateTally(pool: Pool, observer: Observer): DuplicateTally {
  let counts = new Map<string, DuplicateCount>()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (counts.size > 0) {
      const batch = [...counts.values()]
      counts = new Map()
      await countDuplicates(pool, batch).catch((error) => {
        observer.trouble({ doing: `counting duplicates of ${batch.length} events`, error })
      })
    }
    writing = undefined
  }

  return {
    add(receipt, kind) {
      const count = counts.get(receipt.id) ?? {
        shard: receipt.shard,
        receiptId: receipt.id,
        count: 0,
        mismatches: 0,
        mismatchSha256: NO_HASH,
      }
      count.count += 1
      if (kind === 'mismatch') {
        count.mismatches += 1
        count.mismatchSha256 = receipt.bodySha256
      }
      counts.set(receipt.id, count)
      writing ??= write()
    },
    async idle() {
      await writing
    },
  }
}
