import type { LedgerSnapshot } from '../observe/merge-ledgers.ts'
import type { Observer } from '../observe/observer.ts'
import type { Station } from './station.ts'

/** Engines whose sources another engine has. They end their runs and close their connections. */
export interface RetiredEngines {
  add(station: Station): void
  /** Their counters, so that the sums of the process never fall. */
  snapshots(): Promise<readonly LedgerSnapshot[]>
  /** Leaves their runs at most this time, and waits for their end. */
  stop(drainMs: number): Promise<void>
}

/** `longestRunMs`: tenants that do not move must not be interrupted. */
export function retiredEngines(longestRunMs: () => number, observer: Observer): RetiredEngines {
  const ending = new Map<Station, Promise<void>>()
  const ended: LedgerSnapshot[] = []

  async function end(station: Station): Promise<void> {
    const doing = `closing a replaced engine of the ledger ${station.ledger}`
    await station.engine.stop(longestRunMs()).catch((error: unknown) => observer.trouble({ doing, error }))
    ended.push(await countersOf(station))
    ending.delete(station)
  }

  return {
    add: (station) => void ending.set(station, end(station)),
    snapshots: async () => [...ended, ...(await Promise.all([...ending.keys()].map(countersOf)))],
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
