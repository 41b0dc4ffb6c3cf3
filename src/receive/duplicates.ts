import type { Pool } from 'pg'
import type { NewReceipt } from '../ledger/jobs/accept.ts'
import { countDuplicates, type DuplicateCount } from '../ledger/receipts/duplicates.ts'
import { hash } from '../model/hash.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'

/**
 * Counts further deliveries of known events. The sender is not kept waiting for a counter: its
 * event is durable already. Counts of one event add up here until the next write; a crash may lose
 * the last of them, a reply that is lost may have some written twice, and never more than a count
 * is wrong.
 */
export interface DuplicateTally {
  /** `otherSha256`: of its body, where that is not the one that was recorded. */
  add(receipt: NewReceipt, otherSha256?: Uint8Array): void
  /** Resolves when all is written, at once. */
  idle(): Promise<void>
}

/**
 * A lone repeat is counted at once. In a storm of them each event is written once in this time,
 * however often it came.
 */
const PAUSE_MS = 1_000
/** So many events are not waited for, or a statement would become large. */
const MAX_EVENTS = 4_096
const NO_HASH = new Uint8Array()

/** `answered` gets the server that wrote a batch of counts, and when it was asked. */
export function duplicateTally(
  pool: Pool,
  observer: Observer,
  answered: (server: number, askedAtMs: number) => void,
): DuplicateTally {
  let counts = new Map<string, DuplicateCount>()
  let writing: Promise<void> | undefined
  let isAwaited = false
  let isDown = false
  const enough = bell()

  function add(more: DuplicateCount): void {
    const known = counts.get(more.receiptId)
    if (!known) return void counts.set(more.receiptId, more)
    known.count += more.count
    known.mismatches += more.mismatches
    if (more.mismatches > 0) known.mismatchSha256 = more.mismatchSha256
  }

  async function write(): Promise<void> {
    while (counts.size > 0) {
      const batch = [...counts.values()]
      counts = new Map()
      enough.reset()
      const askedAtMs = performance.now()
      try {
        answered(await countDuplicates(pool, batch), askedAtMs)
        isDown = false
      } catch (error) {
        isDown = true
        observer.trouble({ doing: `counting duplicates of ${batch.length} events`, error })
        // Repeats are answered while the ledger is down: they are counted when it is back. At a
        // stop nobody waits for that.
        if (!isAwaited) for (const count of batch) add(count)
      }
      if (!isAwaited) await enough.wait(PAUSE_MS)
    }
    writing = undefined
  }

  return {
    add({ id, shard }, otherSha256) {
      add({
        shard,
        receiptId: id,
        count: 1,
        mismatches: otherSha256 ? 1 : 0,
        mismatchSha256: otherSha256 ?? NO_HASH,
      })
      if (counts.size >= MAX_EVENTS && !isDown) enough.ring()
      writing ??= write()
    },
    async idle() {
      isAwaited = true
      enough.ring()
      await writing
      isAwaited = false
    },
  }
}

export function sha256(body: Uint8Array): Buffer {
  return hash('sha256', body, 'buffer')
}

export function isHashOf(hashed: Uint8Array, body: Uint8Array): boolean {
  return sha256(body).equals(hashed)
}
