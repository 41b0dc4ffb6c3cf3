// @ts-check
import { parseArgs } from 'node:util'
import { history } from './limits/history.mjs'
import { horizon } from './limits/horizon.mjs'
import { idleLag } from './limits/idle-lag.mjs'
import { inFlight } from './limits/in-flight.mjs'
import { ledgers } from './limits/ledgers.mjs'
import { memory } from './limits/memory.mjs'
import { startGenerator } from './load/generator.mjs'
import { writeResult } from './report/json.mjs'
import { startPostgres } from './servers/postgres.mjs'

/*
 * The costs of hookonce in difficult situations, each compared with hookonce itself: a long
 * history, much work in flight, no work, many large bodies, a transaction that is held open, several
 * processes, ledgers and servers. `npm run limits -- --measure history`; each prints a table and
 * writes results/limits-<measure>.json.
 */

const measures = { history, 'in-flight': inFlight, 'idle-lag': idleLag, memory, horizon, ledgers }

const { values } = parseArgs({
  options: {
    measure: { type: 'string' },
    receipts: { type: 'string', default: '10000000' },
    leased: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '10' },
    backlog: { type: 'string', default: '200000' },
    events: { type: 'string', default: '6000' },
    postgres: { type: 'string' },
  },
})
const names = values.measure?.split(',') ?? Object.keys(measures)
for (const name of names) {
  if (!Object.hasOwn(measures, name))
    throw new Error(`--measure is one of ${Object.keys(measures).join(', ')}, not "${name}"`)
}

const postgres = await startPostgres(values.postgres)
const generator = startGenerator()
try {
  for (const name of names) {
    const measure = measures[/** @type {keyof typeof measures} */ (name)]
    const result = await measure({
      postgres,
      generator,
      receipts: Number(values.receipts),
      leased: Number(values.leased),
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      minutes: Number(values.minutes),
      backlog: Number(values.backlog),
      events: Number(values.events),
    })
    process.stdout.write(`\n${name}\n`)
    console.table(result)
    await writeResult(
      `limits-${name}.json`,
      JSON.stringify({ measuredAt: new Date().toISOString(), result }, null, 2),
    )
  }
} finally {
  generator.stop()
  await postgres.stop()
}

/**
 * @typedef {object} Limits
 * @property {import('./servers/postgres.mjs').Postgres} postgres
 * @property {import('./load/generator.mjs').Generator} generator
 * @property {number} receipts of the history
 * @property {number} leased jobs in flight
 * @property {number} rounds
 * @property {number} seconds of one measurement
 * @property {number} minutes that a horizon is held
 * @property {number} backlog jobs to drain beside a history
 * @property {number} events of one round of `ledgers`
 */
