import { SilentServer } from './silent-server.ts'
import { sqlStateOf } from './sql-state.ts'

/** Too few values, or too many; and a statement that took longer than it may, or was cancelled. */
const OF_A_STATEMENT = new Set(['08P01', '57014'])

/** Whether the server cannot be reached or cannot go on, rather than refuse what it was asked. */
export function isOutage(error: unknown): boolean {
  if (error instanceof SilentServer) return true
  // Mistakes of a program say nothing about the server.
  if (error instanceof TypeError || error instanceof RangeError) return false
  const code = sqlStateOf(error)
  if (OF_A_STATEMENT.has(code)) return false
  // EPIPE has five capitals too, but no class of SQLSTATE begins with E.
  return !/^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) || /^(08|53|57|58)/.test(code)
}
