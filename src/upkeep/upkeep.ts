import type { LedgerTables } from '../ledger/ledger.ts'
import type { Observer } from '../observe/observer.ts'
import { lintKeys } from './lint-keys.ts'
import { prune, pruneOutbox } from './prune-receipts.ts'
import { reportUnattended } from './report-unattended.ts'
import { rescue } from './rescue.ts'
import { wakeLanes } from './wake-ordered-jobs.ts'

export interface Upkeep {
  stop(): Promise<void>
}

const PRUNE_EVERY_MS = 60_000
/** A key that is wrong stays wrong: a reminder an hour, not a flood. */
const LINT_EVERY_MS = 60 * 60_000
const UNATTENDED_EVERY_MS = 15 * 60_000

export interface UpkeepOptions {
  readonly leaseMs: number
  readonly observer: Observer
  /**
   * How long this process has reached the ledger without a break; 0 while it does not hold its
   * lease.
   */
  readonly contactMs: () => number
  /** How long finished messages of the outbox are kept; undefined: whoever relays them says so. */
  readonly keepMessagesMs?: number | undefined
}

/**
 * Runs the chores beside a worker. Every process runs them; each is safe when all do it at once.
 */
export function startUpkeep(ledger: LedgerTables, options: UpkeepOptions): Upkeep {
  const { leaseMs, observer, contactMs, keepMessagesMs } = options
  const chores = [
    every(leaseMs / 3, () => rescue(ledger, { observer, contactMs: contactMs() })),
    every(leaseMs / 3, () => wakeLanes(ledger)),
    every(PRUNE_EVERY_MS, () => prune(ledger)),
    every(LINT_EVERY_MS, async () => {
      for (const found of await lintKeys(ledger)) observer.keyFinding?.(found)
    }),
    every(UNATTENDED_EVERY_MS, () => reportUnattended(ledger, observer)),
    ...(keepMessagesMs === undefined
      ? []
      : [every(PRUNE_EVERY_MS, () => pruneOutbox(ledger, keepMessagesMs))]),
  ]

  function every(ms: number, chore: () => Promise<unknown>): Upkeep {
    let timer: NodeJS.Timeout
    let running: Promise<unknown> = Promise.resolve()
    let stopped = false
    function schedule(): void {
      // Jittered, so that processes that were started together do not sweep together.
      if (!stopped) timer = setTimeout(run, ms * (0.5 + Math.random()))
    }
    function run(): void {
      running = chore()
        .catch((error) => observer.trouble({ doing: 'upkeep of the ledger', error }))
        .finally(schedule)
    }
    schedule()
    return {
      async stop() {
        stopped = true
        clearTimeout(timer)
        await running
      },
    }
  }

  return {
    async stop() {
      await Promise.all(chores.map((chore) => chore.stop()))
    },
  }
}
