import type { CheckedAlerts } from '../alerts/config.ts'
import type { ReadCircuits } from '../alerts/evaluate.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Observer } from '../observe/observer.ts'
import { type Chore, startChore } from './chore.ts'
import { countFailuresChore } from './count-failures.ts'
import { evaluateAlertsChore } from './evaluate-alerts.ts'
import { lintEventKeysChore } from './lint-event-keys.ts'
import { pruneOutboxChore } from './prune-outbox.ts'
import { pruneReceiptsChore } from './prune-receipts.ts'
import { pruneStatsChore } from './prune-stats.ts'
import { replayManyChore } from './replay-many.ts'
import { reportUnattendedChore } from './report-unattended.ts'
import { rescueChore } from './rescue.ts'
import { wakeOrderedJobsChore } from './wake-ordered-jobs.ts'

export interface Upkeep {
  stop(): Promise<void>
}

export interface UpkeepOptions {
  readonly leaseMs: number
  readonly observer: Observer
  /**
   * How long this process has reached the ledger without interruption. 0 while it does not hold its
   * lease.
   */
  readonly contactMs: () => number
  /** How long finished outbox messages are kept. Undefined: this process does not relay them. */
  readonly keepMessagesMs?: number | undefined
  /** Undefined: this process does not evaluate alerts. */
  readonly alerts?: CheckedAlerts | undefined
  readonly openCircuits?: ReadCircuits | undefined
}

/** Runs every chore of a process with a worker. */
export function startUpkeep(ledger: LedgerTables, options: UpkeepOptions): Upkeep {
  const running = chores(ledger, options).map((chore) => startChore(chore, options.observer))
  return {
    async stop() {
      await Promise.all(running.map((chore) => chore.stop()))
    },
  }
}

function chores(
  ledger: LedgerTables,
  { leaseMs, observer, contactMs, keepMessagesMs, alerts, openCircuits }: UpkeepOptions,
): Chore[] {
  return [
    rescueChore(ledger, { leaseMs, observer, contactMs }),
    wakeOrderedJobsChore(ledger, leaseMs),
    pruneReceiptsChore(ledger),
    pruneStatsChore(ledger),
    countFailuresChore(ledger),
    lintEventKeysChore(ledger, observer),
    reportUnattendedChore(ledger, observer),
    replayManyChore(ledger),
    ...(keepMessagesMs === undefined ? [] : [pruneOutboxChore(ledger, keepMessagesMs)]),
    ...(alerts === undefined ? [] : [evaluateAlertsChore(ledger, { alerts, openCircuits, observer })]),
  ]
}
