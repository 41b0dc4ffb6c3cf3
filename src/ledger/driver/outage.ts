import { SilentServer } from './silent-server.ts'
import { sqlStateOf } from './sql-state.ts'

/**
 * Codes that look like an outage but are not: a wrong number of values (08P01), and a statement
 * that timed out or was cancelled (57014).
 */
const OF_A_STATEMENT = new Set(['08P01', '57014'])

/** Whether the server is unreachable or cannot continue. A rejected statement is not an outage. */
export function isOutage(error: unknown): boolean {
  if (error instanceof SilentServer) return true
  // Programming errors, not failures of the server.
  if (error instanceof TypeError || error instanceof RangeError) return false
  const code = sqlStateOf(error)
  if (OF_A_STATEMENT.has(code)) return false
  // Excludes E, because no SQLSTATE class starts with it but network errors do: EPIPE also has
  // five capitals.
  return !/^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) || /^(08|53|57|58)/.test(code)
}
