import { setTimeout as delay } from 'node:timers/promises'
import { type GroupCommit, groupCommit } from '../ledger/group-commit.ts'
import { type Settlement, settleJobs } from '../ledger/jobs.ts'
import type { Queryable } from '../ledger/statement.ts'
import type { Observer } from '../observe/observer.ts'

/** One statement carries this many outcomes; more would only make its locks last longer. */
const MAX_BATCH = 500
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

export interface SettlerOptions {
  readonly db: Queryable
  readonly observer: Observer
  /** Gives up trying: the ledger is down and the process wants to end. Leases then run out by themselves. */
  readonly signal: AbortSignal
}

/**
 * Settles runs in group commits. While the ledger is down it holds on to what happened and tries again: the
 * work is done, only the record is missing. A settlement that was committed although its reply was lost finds
 * nothing to change the second time.
 */
export function settler({ db, observer, signal }: SettlerOptions): GroupCommit<Settlement, boolean> {
  return groupCommit(
    async (batch) => {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        try {
          return await settleJobs(db, batch)
        } catch (error) {
          observer.trouble({ doing: `settling ${batch.length} jobs`, error })
          if (signal.aborted) return batch.map(() => false)
          await delay(pauseMs, undefined, { signal }).catch(() => undefined)
        }
      }
    },
    { maxItems: MAX_BATCH },
  )
}
