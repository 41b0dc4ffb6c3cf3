import { setTimeout as delay } from 'node:timers/promises'
import type { Observer } from '../observe/observer.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

export interface Persistence {
  readonly doing: string
  readonly observer: Observer
  /**
   * Stops retrying: the ledger is down and the process is stopping. Leases then expire without
   * further action.
   */
  readonly signal: AbortSignal
}

/**
 * Records finished work, even if the ledger is down for long. Returns undefined if it stopped
 * retrying. `record` must be idempotent: a commit whose reply was lost is tried again.
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
      // Jitter: processes that lost the ledger together must not reconnect together.
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
  }
}
