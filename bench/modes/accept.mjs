// @ts-check
import { checkAnswers, checkCount, round } from './round.mjs'

/**
 * Acknowledged deliveries per second, closed loop. No worker runs.
 * @param {import('./round.mjs').Contender} contender
 * @param {import('./round.mjs').Bench} bench
 */
export function acceptRound(contender, bench) {
  const { seconds, count, connections } = bench.options
  return round(contender, bench, {
    worker: false,
    connections,
    async measure({ server, generator }) {
      const load = checkAnswers(await generator.closed({ seconds, count, fresh: false }))
      if (contender.recorded) {
        const found = await contender.recorded(server)
        checkCount(contender, 'records', { found, expected: load.unique })
      }
      return { perSecond: load.perSecond, deliveries: load.sent, unique: load.unique, latency: load.latency }
    },
  })
}
