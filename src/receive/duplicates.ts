import { hash } from 'node:crypto'
import type { Pool } from 'pg'
import { countDuplicates, type DuplicateCount } from '../ledger/duplicates.ts'
import type { NewReceipt } from '../ledger/insert-receipts.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * Counts further deliveries of known events. The sender is not kept waiting for a counter: its event is durable
 * already. Counts of one event add up here until the next write; a crash may lose the last of them, and never
 * more than a count.
 */
export interface DuplicateTally {
  /** `standing` is the hash of the body that was recorded: another one is a mismatch. */
  add(receipt: NewReceipt, standing: Uint8Array): 'duplicate' | 'mismatch'
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
    add(receipt, standing) {
      const bodySha256 = sha256(receipt.body)
      const kind = Buffer.compare(bodySha256, standing) === 0 ? 'duplicate' : 'mismatch'
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
        count.mismatchSha256 = bodySha256
      }
      counts.set(receipt.id, count)
      writing ??= write()
      return kind
    },
    async idle() {
      await writing
    },
  }
}

export function sha256(body: Uint8Array): Buffer {
  return hash('sha256', body, 'buffer')
}
