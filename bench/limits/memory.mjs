// @ts-check
import { readFileSync } from 'node:fs'
import { contendersNamed } from '../contenders.mjs'
import { startContender } from '../servers/contender.mjs'

const BODY_BYTES = 256_000

/**
 * The receiver's memory while many connections send large bodies, each as soon as the last was
 * answered. Refusals (503 with Retry-After) are the back-pressure: they are counted, and refused
 * deliveries are not recorded.
 * @param {import('../limits.mjs').Limits} limits
 */
export async function memory({ postgres, generator, seconds, rounds }) {
  const [hookonce] = contendersNamed(['hookonce'])
  if (!hookonce) throw new Error('hookonce is no contender')
  const rows = []
  for (let n = 1; n <= rounds; n += 1) {
    for (const connections of [64, 2_000]) {
      const server = await startContender(hookonce, {
        postgres,
        mode: 'accept',
        effect: 'own',
        cpuProf: false,
      })
      try {
        const idleMb = residentMb(server.pid)
        const prefix = `${process.pid.toString(36)}m${n}c${connections.toString(36)}x`
        await generator.prepare({
          port: server.port,
          connections,
          prefix,
          bodyBytes: BODY_BYTES,
          duplicates: 0,
        })
        let peakMb = 0
        const watch = setInterval(() => {
          peakMb = Math.max(peakMb, residentMb(server.pid))
        }, 50)
        const load = await generator.closed({ seconds, count: 1_000_000, fresh: false })
        clearInterval(watch)
        const accepted = load.statuses[202] ?? 0
        const recorded = (await hookonce.recorded?.(server)) ?? 0
        if (recorded !== accepted) throw new Error(`${recorded} recorded for ${accepted} acknowledged`)
        rows.push({
          round: n,
          connections,
          'idle MB': idleMb,
          'peak MB': peakMb,
          'accepted/s': Math.round(accepted / load.elapsed),
          statuses: JSON.stringify(load.statuses),
        })
      } finally {
        await server.stop()
      }
    }
  }
  return rows
}

/** @param {number} pid */
function residentMb(pid) {
  const [, kb = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}
