// @ts-check
import { parseArgs } from 'node:util'
import { contenders } from './contenders.mjs'

const MODES = /** @type {const} */ (['accept', 'end-to-end', 'latency', 'drain'])
const EFFECTS = ['own', 'tx', 'write']

/** @typedef {(typeof MODES)[number]} Mode */

/**
 * @typedef {object} Options
 * @property {Mode} mode
 * @property {string[]} contenders
 * @property {number} seconds
 * @property {number} warmupSeconds
 * @property {number} rounds
 * @property {number} connections
 * @property {number} bodyBytes
 * @property {number} duplicates percent
 * @property {number} count deliveries of a round, at most
 * @property {number} backlog jobs, for drain
 * @property {string} effect
 * @property {number | undefined} [concurrency] of hookonce's worker
 * @property {boolean} cpuProf
 * @property {string | undefined} postgres
 */

const help = `npm run bench -- [flags]

  --mode accept|end-to-end|latency|drain   what is measured (accept)
  --contenders a,b                         of: ${contenders.map(({ name }) => name).join(', ')}
  --seconds 5                              length of a measurement
  --rounds 3                               measurements per contender; the median counts
  --connections 256                        of the load generator
  --body 1600                              bytes of a delivery (512, 1600, 16000, 256000)
  --duplicates 0                           percent of deliveries that repeat an event (0, 10, 50, 100)
  --count 2000000                          deliveries of a round, at most
  --backlog 200000                         jobs to drain
  --effect own|tx|write                    how hookonce writes the business row end to end
  --concurrency 1024                       slots of hookonce's worker (256 for drain)
  --cpu-prof                               profile the servers; prints where their time went
  --postgres <url>                         a PostgreSQL on this machine instead of a private one
  --smoke                                  tiny counts, every contender, only correctness
`

/** The default contenders of each mode. */
const DEFAULT_CONTENDERS = {
  accept: contenders.map(({ name }) => name),
  'end-to-end': contenders.filter(({ unfinished }) => unfinished).map(({ name }) => name),
  latency: ['hookonce', 'hand-written'],
  drain: ['hookonce', 'graphile-worker'],
}

/**
 * The requested runs: one, or for a smoke test one of each kind.
 * @param {string[]} argv
 * @returns {{ smoke: boolean, runs: Options[] }}
 */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      mode: { type: 'string', default: 'accept' },
      contenders: { type: 'string' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '256' },
      body: { type: 'string', default: '1600' },
      duplicates: { type: 'string', default: '0' },
      count: { type: 'string', default: '2000000' },
      backlog: { type: 'string', default: '200000' },
      effect: { type: 'string', default: 'own' },
      concurrency: { type: 'string' },
      'cpu-prof': { type: 'boolean', default: false },
      postgres: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    process.exit(0)
  }
  const mode = oneOf('--mode', values.mode, MODES)
  const run = {
    mode,
    contenders: values.contenders?.split(',') ?? DEFAULT_CONTENDERS[mode],
    seconds: number('--seconds', values.seconds, 0.1, 600),
    warmupSeconds: 1,
    rounds: number('--rounds', values.rounds, 1, 100),
    connections: number('--connections', values.connections, 1, 10_000),
    bodyBytes: number('--body', values.body, 400, 4_000_000),
    duplicates: number('--duplicates', values.duplicates, 0, 100),
    count: number('--count', values.count, 1, 100_000_000),
    backlog: number('--backlog', values.backlog, 1, 10_000_000),
    effect: oneOf('--effect', values.effect, EFFECTS),
    concurrency:
      values.concurrency === undefined ? undefined : number('--concurrency', values.concurrency, 1, 100_000),
    cpuProf: values['cpu-prof'],
    postgres: values.postgres,
  }
  return { smoke: values.smoke, runs: values.smoke ? smokeRuns(run, values.contenders !== undefined) : [run] }
}

/**
 * @param {Options} run
 * @param {boolean} chosen the contenders were named
 * @returns {Options[]}
 */
function smokeRuns(run, chosen) {
  const small = {
    ...run,
    seconds: 10,
    warmupSeconds: 0,
    rounds: 1,
    connections: 16,
    count: 400,
    duplicates: 20,
    backlog: 2000,
  }
  return /** @type {Mode[]} */ (['accept', 'end-to-end', 'drain']).map((mode) => {
    const names = DEFAULT_CONTENDERS[mode].filter((name) => !chosen || run.contenders.includes(name))
    return { ...small, mode, contenders: names }
  })
}

/**
 * @param {string} flag
 * @param {string} text
 * @param {number} min
 * @param {number} max
 */
function number(flag, text, min, max) {
  const value = Number(text)
  if (!(value >= min && value <= max))
    throw new Error(`${flag} must be a number from ${min} to ${max}, not "${text}"`)
  return value
}

/**
 * @template {string} T
 * @param {string} flag
 * @param {string} text
 * @param {readonly T[]} allowed
 * @returns {T}
 */
function oneOf(flag, text, allowed) {
  const found = allowed.find((value) => value === text)
  if (found === undefined) throw new Error(`${flag} must be one of ${allowed.join(', ')}, not "${text}"`)
  return found
}
