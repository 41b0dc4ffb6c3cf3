import { sweepAlerts } from '../ledger/alerts/alerts.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type RollupSize, rollupSizes, sweepRollups } from '../ledger/stats/rollups.ts'
import { BATCH, inBatches } from './batches.ts'
import type { Chore } from './chore.ts'

const EVERY_MS = 60_000

/**
 * An hour is shown by minute, a day by ten minutes, a week by hour. Alerts also look for gaps in
 * the ten-minute buckets of a week. Each bucket size is kept a little longer than its period.
 */
const KEEP_MINUTES: Readonly<Record<RollupSize, number>> = { 1: 2 * 60, 10: 8 * 24 * 60, 60: 8 * 24 * 60 }
/** Long enough to compare the current month with earlier months. */
const KEEP_ALERT_DAYS = 90

export function pruneStatsChore(ledger: LedgerTables): Chore {
  return {
    name: 'prune-stats',
    everyMs: EVERY_MS,
    run: async () => ({ ...(await pruneStats(ledger)) }),
  }
}

export interface PrunedStats {
  readonly buckets: number
  readonly alerts: number
}

/** Deletes old buckets of the rollups, and alerts that were resolved long ago. */
export async function pruneStats({ pool }: LedgerTables): Promise<PrunedStats> {
  let buckets = 0
  for (const size of rollupSizes) {
    const sweep = { size, keepMinutes: KEEP_MINUTES[size], limit: BATCH }
    buckets += await inBatches(() => sweepRollups(pool, sweep))
  }
  const alerts = await inBatches(() => sweepAlerts(pool, { keepDays: KEEP_ALERT_DAYS, limit: BATCH }))
  return { buckets, alerts }
}
