import { servedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Observer } from '../observe/observer.ts'

/** A deploy stops and starts workers: who is without one for a moment is not left behind. */
const GRACE_MS = 5 * 60_000

/**
 * Reports subscribers whose jobs wait although no worker serves them. Returns how many there are.
 */
export async function reportUnattended(
  { pool, shards }: LedgerTables,
  observer: Observer,
  nowMs = Date.now(),
): Promise<number> {
  let count = 0
  for (const one of await servedSubscribers(pool, shards)) {
    const since = one.servedUntil ?? one.registeredAt
    if (one.isServed || one.waiting === 0 || nowMs - since.getTime() < GRACE_MS) continue
    count += 1
    observer.unattended?.({ source: one.source, subscriber: one.subscriber, jobs: one.waiting, since })
  }
  return count
}
