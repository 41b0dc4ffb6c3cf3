import { announcer } from '../ledger/jobs/announce.ts'
import { isSet, type Ledgers } from '../ledger/ledger-set.ts'

/** Makes the workers of all processes look for jobs now. Otherwise they look within a second. */
export function announceWork(ledgers: Ledgers): void {
  if (!isSet(ledgers)) return announcer(ledgers.pool)()
  // A ledger that is down has no worker to wake.
  for (const { tables } of ledgers.members)
    void tables().then(
      ({ pool }) => announcer(pool)(),
      () => undefined,
    )
}
