import type { LedgerTables } from '../ledger/ledger.ts'
import { addCounts } from '../ledger/stats/rollups.ts'
import { countDeltas, type TenantOf } from '../observe/count-deltas.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import type { Chore } from './chore.ts'

/** A crash loses the counts since the last flush. A flush is one small statement. */
const EVERY_MS = 10_000

export interface CountFlush {
  readonly chore: Chore
  /** Flushes now. Returns the number of sources and subscribers with counts. */
  flush(): Promise<number>
}

export interface CountFlushOptions {
  /** The counters of this process. */
  readonly snapshot: () => MetricsSnapshot
  readonly tenantOf: TenantOf
}

/** Adds the counts of this process to the rollups. Every process that opened the ledger runs it. */
export function countFlush(
  { pool }: Pick<LedgerTables, 'pool'>,
  { snapshot, tenantOf }: CountFlushOptions,
): CountFlush {
  let flushed: MetricsSnapshot | undefined

  async function flush(): Promise<number> {
    const now = snapshot()
    const deltas = countDeltas(flushed, now, tenantOf)
    await addCounts(pool, deltas)
    // Set only after the flush: after a failure, the next flush includes these counts.
    flushed = now
    return deltas.length
  }

  return {
    chore: {
      name: 'flush-counts',
      everyMs: EVERY_MS,
      isBackground: true,
      run: async () => ({ flushed: await flush() }),
    },
    flush,
  }
}
