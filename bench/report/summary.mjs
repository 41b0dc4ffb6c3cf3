// @ts-check
import { median } from '../load/percentiles.mjs'

/**
 * @typedef {object} Measured
 * @property {number} perSecond
 * @property {import('../load/percentiles.mjs').Percentiles} [latency]
 * @property {import('../load/percentiles.mjs').Percentiles} [generatorLag]
 * @property {import('../servers/cpu.mjs').CpuCost | undefined} [cpu]
 */

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} does
 * @property {string | undefined} version
 * @property {number} perSecond median of the rounds
 * @property {number} lowest
 * @property {number} highest
 * @property {number | undefined} p50 milliseconds, median of the rounds
 * @property {number | undefined} p99
 * @property {number | undefined} generatorP99 how late the generator itself was
 * @property {import('../servers/cpu.mjs').CpuCost | undefined} cpu median of each part
 * @property {Measured[]} rounds
 */

/**
 * @typedef {object} Summary
 * @property {import('../options.mjs').Options} options
 * @property {object} machine
 * @property {Record<string, string>} versions
 * @property {Record<string, string>} settings
 * @property {string} measuredAt
 * @property {{ rate?: number }} facts
 * @property {Line[]} lines
 */

/**
 * @param {Map<import('../contenders.mjs').Contender, Measured[]>} results
 * @param {object} facts
 */
export function summarize(results, facts = {}) {
  return {
    measuredAt: new Date().toISOString(),
    facts,
    lines: [...results].map(([contender, rounds]) => line(contender, rounds)),
  }
}

/**
 * @param {import('../contenders.mjs').Contender} contender
 * @param {Measured[]} rounds
 * @returns {Line}
 */
function line({ name, does, version }, rounds) {
  const rates = rounds.map(({ perSecond }) => perSecond)
  return {
    name,
    does,
    version,
    perSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50: medianOf(rounds.map(({ latency }) => latency?.p50)),
    p99: medianOf(rounds.map(({ latency }) => latency?.p99)),
    generatorP99: medianOf(rounds.map(({ generatorLag }) => generatorLag?.p99)),
    cpu: cpuOf(rounds.map(({ cpu }) => cpu)),
    rounds,
  }
}

/** @param {(import('../servers/cpu.mjs').CpuCost | undefined)[]} costs */
function cpuOf(costs) {
  const known = costs.filter((cost) => cost !== undefined)
  if (known.length === 0) return undefined
  return {
    server: median(known.map(({ server }) => server)),
    store: median(known.map(({ store }) => store)),
    generator: median(known.map(({ generator }) => generator)),
  }
}

/** @param {(number | undefined)[]} values */
function medianOf(values) {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : median(known)
}
