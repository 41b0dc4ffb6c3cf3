import type { Pool } from 'pg'
import { moveClock, readClock } from '../ledger/testing/clock.ts'
import { HookonceError } from '../model/errors.ts'
import { type Duration, durationMs } from './duration.ts'

/** The time of a test: for its database, and for the deliveries that it sends and receives. */
export interface TestClock {
  now(): Date
  /**
   * Moves time forward: retries become due, keys and bodies pass their retention, signatures
   * expire. Leases of living processes are kept.
   */
  advance(by: Duration): Promise<void>
}

export interface OpenClock extends TestClock {
  readonly nowMs: number
  /** The lead over the real time. */
  shiftMs(): number
}

export interface ClockOptions {
  readonly pool: Pool
  /** Runs after the time has moved, in place of timers in production. */
  readonly onMoved: (nowMs: number) => Promise<void>
}

export async function openClock({ pool, onMoved }: ClockOptions): Promise<OpenClock> {
  let shiftMs = 0
  const { isInstalled } = await readClock(pool)
  if (!isInstalled)
    throw new HookonceError(
      'CONFIG_INVALID',
      'testHooks(): the database URL sets a search_path, which hides the clock of the test; leave the path out of the URL',
    )
  return {
    now: () => new Date(Date.now() + shiftMs),
    get nowMs() {
      return Date.now() + shiftMs
    },
    async advance(by) {
      const ms = durationMs(by, 'clock.advance()')
      if (ms < 0)
        throw new HookonceError(
          'CONFIG_INVALID',
          'clock.advance(): time only moves forward; pass a positive duration',
        )
      await moveClock(pool, ms)
      shiftMs += ms
      await onMoved(Date.now() + shiftMs)
    },
    shiftMs: () => shiftMs,
  }
}
