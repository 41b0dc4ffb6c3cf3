// The CPU time of the parts of a measurement, in milliseconds. Unlike the time on a clock, it does
// not grow with the other work of a busy machine.
import { readdirSync, readFileSync } from 'node:fs'

/** The parts: the browser with all its processes, the gateway, and the sessions of PostgreSQL. */
export async function cpuMeter({ page, pool, gatewayPid }) {
  const cdp = await page.context().browser().newBrowserCDPSession()
  return async () => {
    const { processInfo } = await cdp.send('SystemInfo.getProcessInfo')
    const { rows } = await pool.query('select pid from pg_stat_activity')
    const pids = rows.map(({ pid }) => pid).filter((pid) => pid !== undefined)
    return {
      browser: processInfo.reduce((sum, { cpuTime }) => sum + cpuTime * 1_000, 0),
      gateway: threadsOf(gatewayPid),
      database: pids.reduce((sum, pid) => sum + threadsOf(pid), 0),
    }
  }
}

/** Zero if there is no /proc, or if the process has ended. */
function threadsOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, id) => {
      const [ns] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')
      return sum + Number(ns) / 1e6
    }, 0)
  } catch {
    return 0
  }
}
