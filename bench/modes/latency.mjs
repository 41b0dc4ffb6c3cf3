// @ts-check
import { acceptRound } from './accept.mjs'
import { checkAnswers, checkCount, round } from './round.mjs'

/**
 * The common rate of all contenders: half of the slowest peak.
 * @param {readonly import('./round.mjs').Contender[]} contenders
 * @param {import('./round.mjs').Bench} bench
 */
export async function commonRate(contenders, bench) {
  const peaks = []
  for (const contender of contenders) peaks.push((await acceptRound(contender, bench)).perSecond)
  return Math.floor(Math.min(...peaks) / 2)
}

/**
 * The time from the due time of a delivery to its acknowledgement, open loop.
 * @param {import('./round.mjs').Contender} contender
 * @param {import('./round.mjs').Bench} bench
 * @param {number} rate
 */
export function latencyRound(contender, bench, rate) {
  const { seconds, connections } = bench.options
  return round(contender, bench, {
    worker: false,
    connections,
    async measure({ server, generator }) {
      const load = checkAnswers(await generator.open({ seconds, rate }))
      if (contender.recorded) {
        checkCount(contender, 'records', { found: await contender.recorded(server), expected: load.unique })
      }
      return {
        perSecond: load.perSecond,
        deliveries: load.sent,
        latency: load.latency,
        generatorLag: load.generatorLag,
      }
    },
  })
}
