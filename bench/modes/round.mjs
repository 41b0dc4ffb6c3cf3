// @ts-check
import { startContender } from '../servers/contender.mjs'
import { cpuMeter } from '../servers/cpu.mjs'

/**
 * @typedef {object} Bench
 * @property {import('../options.mjs').Options} options
 * @property {import('../servers/postgres.mjs').Postgres} postgres
 * @property {import('../load/generator.mjs').Generator} generator
 */

/** @typedef {import('../contenders.mjs').Contender} Contender */

/**
 * The warm-up is slower than the measurement. A stock that is too large only costs time before the
 * measurement.
 */
const STOCK_MARGIN = 1.6
/** The number of events that repeats are drawn from, if only repeats are measured. */
const SEED_EVENTS = 1000

let rounds = 0

/**
 * One measurement: a fresh contender on a fresh database, warmed up, measured, checked, ended.
 *
 * @template {{ deliveries: number }} Result
 * @param {Contender} contender
 * @param {Bench} bench
 * @param {{ worker: boolean, connections: number, measure: (running: Running) => Promise<Result> }} what
 * @returns {Promise<Result & { cpu: import('../servers/cpu.mjs').CpuCost | undefined }>}
 */
export async function round(contender, { options, postgres, generator }, { worker, connections, measure }) {
  const mode = worker ? 'end-to-end' : 'accept'
  const server = await startContender(contender, { ...options, postgres, mode })
  try {
    const { bodyBytes, duplicates } = options
    const prefix = `${process.pid.toString(36)}r${(rounds++).toString(36)}x`
    await generator.prepare({ port: server.port, connections, prefix, bodyBytes, duplicates })
    const warmed = await warmUp(generator, options)
    const cost = await cpuMeter({ server, postgres, generator })
    const measured = await Promise.race([measure({ contender, server, generator, warmed }), server.died])
    return { ...measured, cpu: await cost.each(measured.deliveries) }
  } finally {
    await server.stop()
  }
}

/**
 * @typedef {object} Running
 * @property {Contender} contender
 * @property {Awaited<ReturnType<typeof startContender>>} server
 * @property {import('../load/generator.mjs').Generator} generator
 * @property {import('../load/generator.mjs').LoadResult | undefined} warmed
 */

/**
 * @param {import('../load/generator.mjs').Generator} generator
 * @param {import('../options.mjs').Options} options
 */
async function warmUp(generator, { warmupSeconds, seconds, duplicates, count }) {
  if (duplicates === 100)
    checkAnswers(await generator.closed({ seconds: 60, count: SEED_EVENTS, fresh: true }))
  if (warmupSeconds === 0) return undefined
  const warmed = checkAnswers(await generator.closed({ seconds: warmupSeconds, count, fresh: false }))
  const share = 1 - duplicates / 100
  await generator.stock({
    count: Math.min(count, Math.ceil(warmed.perSecond * seconds * STOCK_MARGIN * share)),
  })
  return warmed
}

/**
 * Every delivery must have been acknowledged.
 *
 * @template {import('../load/generator.mjs').LoadResult} Result
 * @param {Result} result
 */
export function checkAnswers(result) {
  const refused = Object.entries(result.statuses).filter(([status]) => !/^20[02]$/.test(status))
  if (refused.length > 0) {
    const told = refused.map(([status, times]) => `${times} × ${status === '0' ? 'connection lost' : status}`)
    throw new Error(`deliveries were not acknowledged: ${told.join(', ')}`)
  }
  return result
}

/**
 * @param {Contender} contender
 * @param {string} what
 * @param {{ found: number, expected: number }} counts
 */
export function checkCount(contender, what, { found, expected }) {
  if (found !== expected) throw new Error(`${contender.name}: ${found} ${what} for ${expected} unique events`)
}

/**
 * A, B, C, A, B, C, …: changes on the machine affect all contenders alike.
 * @template Result
 * @param {readonly Contender[]} contenders
 * @param {number} times
 * @param {(contender: Contender, time: number) => Promise<Result>} run
 */
export async function alternate(contenders, times, run) {
  /** @type {Map<Contender, Result[]>} */
  const results = new Map(contenders.map((contender) => [contender, []]))
  for (let time = 1; time <= times; time += 1) {
    for (const contender of contenders) {
      const result = await run(contender, time)
      results.get(contender)?.push(result)
    }
  }
  return results
}
