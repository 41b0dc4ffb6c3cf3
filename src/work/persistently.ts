import { setTimeout as delay } from 'node:timers/promises'
import type { Observer } from '../observe/observer.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

export interface Persistence {
  readonly doing: string
  readonly observer: Observer
  /**
   * Gives up trying: the ledger is down and the process wants to end. Leases then run out by
   * themselves.
   */
  readonly signal: AbortSignal
}

/**
 * Records what has happened, however long the ledger is down: the work is done, only the record is
 * missing. Undefined: given up. What is recorded must be such that doing it twice changes nothing
 * the second time, because a commit whose reply was lost is tried again.
 */
export async function persistently<Result>(
  record: () => Promise<Result>,
  { doing, observer, signal }: Persistence,
): Promise<Result | undefined> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await record()
    } catch (error) {
      observer.trouble({ doing, error })
      if (signal.aborted) return undefined
      // At random around the pause: processes that lost the ledger together would come back
      // together.
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
  }
}
