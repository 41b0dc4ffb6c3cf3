import pg from 'pg'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { INSTALL_CLOCK, moveClock, pathWithClock } from '../../src/ledger/testing/clock.ts'
import { until } from '../support/until.ts'
import type { History } from './history.ts'

/*
 * The time of the ledger, which a run moves ahead by days, so that bodies and keys expire while
 * events are delivered again. The leases of living workers move with it. Without that, each jump
 * would take all jobs away from all workers, as if the database had been unreachable for days.
 */

/** Short, so that bodies expire during a run. */
const BODY_DAYS = 10
/** Longer than all the days of a usual run, so that keys expire only on purpose. */
export const KEY_DAYS = 3_650
/** The retention of every process, and no age at which retries end. */
export const AGES = {
  retention: { bodyDays: BODY_DAYS, keyDays: KEY_DAYS },
  maxAgeMs: 50 * 365 * 86_400_000,
} as const

/** The database may be down meanwhile. */
const MOVE_MS = 60_000

/** Makes a ledger whose time can move. */
export async function migrateWithClock(pool: pg.Pool, url: string): Promise<void> {
  await setPath(url)
  await pool.query(INSTALL_CLOCK)
  await migrate(pool)
  // The migrations set the search path of a role that has the name of the schema.
  await setPath(url)
}

async function setPath(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const path = pathWithClock('public', false)
    await client.query(`alter role current_user in database ${client.database} set search_path = ${path}`)
  } finally {
    await client.end()
  }
}

export interface LedgerClock {
  /** Moves the time of the ledger ahead. */
  pass(days: number): Promise<void>
  close(): Promise<void>
}

export function openLedgerClock(url: string, history: History): LedgerClock {
  // A jump that a crash undoes would be time that runs backwards.
  const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=on' })
  pool.on('error', () => undefined)

  async function tryToPass(days: number): Promise<true | undefined> {
    const fromMs = history.now()
    try {
      await moveClock(pool, days * 86_400_000)
      return true
    } catch {
      // The outcome may be unknown, so an attempt counts as a jump, and is repeated.
      return undefined
    } finally {
      history.add('shift', { from_ms: fromMs, to_ms: history.now(), days })
    }
  }

  return {
    pass: async (days) => {
      await until('the time of the ledger has moved', () => tryToPass(days), MOVE_MS)
    },
    close: () => pool.end(),
  }
}
