import type { Pool } from 'pg'
import { readProgress } from '../ledger/testing/progress.ts'
import type { TestClock } from './clock.ts'
import { type Journal, WAIT_MS, type WaitOptions } from './journal.ts'

export interface SettleWait {
  readonly pool: Pool
  readonly clock: TestClock
  /** Resolves when no process is being replaced. */
  readonly idle: () => Promise<void>
  /** Deliveries that were started but not awaited. */
  readonly inFlight: () => Promise<unknown>
  readonly log: Journal
  readonly wait: WaitOptions
}

/** Rounding must not leave the next job due a moment later. */
const MARGIN_MS = 1

/**
 * Waits until nothing runs and nothing is due. Moves the clock to the time of work that is due
 * later.
 */
export async function settle({ pool, clock, idle, inFlight, log, wait }: SettleWait): Promise<void> {
  const { timeoutMs = WAIT_MS } = wait
  let end = performance.now() + timeoutMs
  let seen = log.reports
  for (;;) {
    await inFlight()
    await idle()
    const news = log.news()
    const { running, due, later, nextMs } = await readProgress(pool)
    if (running + due === 0) {
      if (later === 0) return
      await clock.advance((nextMs ?? 0) + MARGIN_MS)
    } else await news
    // Work in progress does not count as late, on a machine of any speed.
    if (log.reports !== seen) end = performance.now() + timeoutMs
    seen = log.reports
    if (performance.now() > end) throw await log.timedOut(`the events did not settle in ${timeoutMs} ms`)
  }
}
