// @ts-check
import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second. */
const TICK_US = 10_000

/** @typedef {{ server: number, store: number, generator: number }} CpuCost microseconds of CPU a delivery or job */

/**
 * @typedef {object} Metered
 * @property {{ pid: number, redisPid?: number }} server
 * @property {import('./postgres.mjs').Postgres} [postgres] where the store is not a Redis
 * @property {{ pid: number | undefined }} [generator]
 */

/**
 * Starts to meter.
 *
 * @param {Metered} metered
 */
export async function cpuMeter({ server, postgres, generator }) {
  async function used() {
    const store = server.redisPid ? [server.redisPid] : withParents((await postgres?.pids()) ?? [])
    return [[server.pid], store, generator?.pid ? [generator.pid] : []].map(cpuMicros)
  }
  const before = await used()
  return {
    /**
     * @param {number} count
     * @returns {Promise<CpuCost | undefined>}
     */
    async each(count) {
      if (process.platform !== 'linux') return undefined
      const after = await used()
      const [forServer, forStore, forGenerator] = after.map((sum, part) =>
        Math.round((sum - (before[part] ?? 0)) / count),
      )
      return { server: forServer ?? 0, store: forStore ?? 0, generator: forGenerator ?? 0 }
    },
  }
}

/**
 * Microseconds of CPU that these processes have used, all threads, user and system. Rates depend on what else the
 * machine does; what a delivery costs hardly does.
 *
 * @param {readonly number[]} pids
 */
export function cpuMicros(pids) {
  return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_US, 0)
}

/**
 * PostgreSQL's backends come and go, and each leaves what it used to the process that started it.
 *
 * @param {readonly number[]} pids
 */
export function withParents(pids) {
  return [...new Set(pids.flatMap((pid) => [pid, Number(statOf(pid)?.[1] ?? pid)]))]
}

/** @param {number} pid */
function ticksOf(pid) {
  // With the children that have ended: a server ends helpers of its own while it is measured.
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(statOf(pid)?.[at] ?? 0), 0)
}

/**
 * What Linux tells of a process; undefined where it ended meanwhile.
 *
 * @param {number} pid
 */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may hold anything, so count from the parenthesis behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
