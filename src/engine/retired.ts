import type { LedgerSnapshot } from '../observe/merge-ledgers.ts'
import { mergeSnapshots } from '../observe/merge-snapshots.ts'
import type { Observer } from '../observe/observer.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import type { Station } from './station.ts'

/** Engines whose sources another engine has. They end their runs and close their connections. */
export interface RetiredEngines {
  add(station: Station): void
  /**
   * Their counters, so that the sums of the process never fall. Engines that have ended share one
   * snapshot per ledger: a process may replace any number.
   */
  snapshots(): Promise<readonly LedgerSnapshot[]>
  /** Leaves their runs at most this time, and waits for their end. */
  stop(drainMs: number): Promise<void>
}

/** `longestRunMs`: tenants that do not move must not be interrupted. */
export function retiredEngines(longestRunMs: () => number, observer: Observer): RetiredEngines {
  const ending = new Map<Station, Promise<void>>()
  const ended = new Map<string, MetricsSnapshot>()

  async function end(station: Station): Promise<void> {
    const doing = `closing a replaced engine of the ledger ${station.ledger}`
    await station.engine.stop(longestRunMs()).catch((error: unknown) => observer.trouble({ doing, error }))
    const { ledger, snapshot } = await countersOf(station)
    const before = ended.get(ledger)
    ended.set(ledger, before ? mergeSnapshots([before, snapshot]) : snapshot)
    ending.delete(station)
  }

  return {
    add: (station) => void ending.set(station, end(station)),
    async snapshots() {
      const past = [...ended].map(([ledger, snapshot]) => ({ ledger, snapshot }))
      return [...past, ...(await Promise.all([...ending.keys()].map(countersOf)))]
    },
    async stop(drainMs) {
      // `end` reports failures.
      await Promise.allSettled([...ending.keys()].map(({ engine }) => engine.stop(drainMs)))
      await Promise.all(ending.values())
    },
  }
}

/** Without gauges: another engine reads the backlog of the ledger. */
async function countersOf({ ledger, engine }: Station): Promise<LedgerSnapshot> {
  const { metrics } = await engine.snapshot()
  return { ledger, snapshot: { metrics: metrics.filter(({ type }) => type !== 'gauge') } }
}
