// @ts-check
import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second. */
const TICK_US = 10_000

/**
 * Microseconds of CPU that these processes have used, all threads, user and system. Rates depend on what else the
 * machine does; what a delivery costs hardly does. Undefined where there is no /proc.
 *
 * @param {readonly number[]} pids
 */
export function cpuMicros(pids) {
  if (process.platform !== 'linux') return undefined
  return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_US, 0)
}

/** @param {number} pid */
function ticksOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may hold anything, so count from the parenthesis behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    // It ended meanwhile: what it used is lost to the sum.
    return 0
  }
}
