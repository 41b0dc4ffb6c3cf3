import { servedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Observer } from '../observe/observer.ts'
import type { Chore } from './chore.ts'

const EVERY_MS = 15 * 60_000

/** During a deploy, subscribers briefly have no worker. Shorter times are not reported. */
const GRACE_MS = 5 * 60_000

export function reportUnattendedChore(ledger: LedgerTables, observer: Observer): Chore {
  return {
    name: 'report-unattended',
    everyMs: EVERY_MS,
    run: async () => ({ subscribers: await reportUnattended(ledger, observer) }),
  }
}

/** Reports subscribers whose jobs wait although no worker serves them. Returns their number. */
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
