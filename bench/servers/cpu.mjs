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
 * Starts to measure.
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
 * The CPU time of these processes in microseconds, over all threads, user and system. Rates depend
 * on the other load of the machine, but the CPU time per delivery hardly does.
 * @param {readonly number[]} pids
 */
export function cpuMicros(pids) {
  return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_US, 0)
}

/**
 * The backends of PostgreSQL start and end. The CPU time of an ended backend is added to the
 * process that started it.
 * @param {readonly number[]} pids
 */
export function withParents(pids) {
  return [...new Set(pids.flatMap((pid) => [pid, Number(statOf(pid)?.[1] ?? pid)]))]
}

/** @param {number} pid */
function ticksOf(pid) {
  // Includes the children that have ended: a server ends its helpers while it is measured.
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(statOf(pid)?.[at] ?? 0), 0)
}

/**
 * The statistics of Linux about a process. Undefined if the process ended meanwhile.
 * @param {number} pid
 */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may contain any character, so fields are counted from the closing
    // parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
