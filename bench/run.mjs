// @ts-check
import { cpus, totalmem } from 'node:os'
import { contendersNamed } from './contenders.mjs'
import { startGenerator } from './load/generator.mjs'
import { acceptRound } from './modes/accept.mjs'
import { drainRound } from './modes/drain.mjs'
import { endToEndRound } from './modes/end-to-end.mjs'
import { commonRate, latencyRound } from './modes/latency.mjs'
import { alternate } from './modes/round.mjs'
import { readOptions } from './options.mjs'
import { writeChart } from './report/chart.mjs'
import { writeJson } from './report/json.mjs'
import { printProfile } from './report/profile.mjs'
import { summarize } from './report/summary.mjs'
import { tableOf } from './report/table.mjs'
import { startPostgres } from './servers/postgres.mjs'
import { requireRedis } from './servers/redis.mjs'

const { smoke, runs } = readOptions(process.argv.slice(2))
const startedAt = performance.now()
for (const options of runs) await bench(options)
if (smoke) {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  say(`smoke: every contender recorded each event once and wrote each business row once (${seconds} s)`)
}

/** @param {import('./options.mjs').Options} options */
async function bench(options) {
  const contenders = contendersNamed(options.contenders)
  const redis = contenders.some((contender) => contender.redis) ? requireRedis() : undefined
  const postgres = await startPostgres(options.postgres)
  const generator = startGenerator()
  try {
    const machine = {
      cores: cpus().length,
      cpu: cpus()[0]?.model,
      memoryGb: Math.round(totalmem() / 2 ** 30),
    }
    const versions = {
      node: process.version,
      postgres: postgres.settings.server_version,
      ...(redis ? { redis } : {}),
    }
    say(heading(options, { machine, versions, settings: postgres.settings }))
    const measure = await measureOf(contenders, { options, postgres, generator })
    const results = await alternate(contenders, options.rounds, async (contender, time) => {
      const result = await measure.run(contender)
      progress(
        `round ${time}/${options.rounds} ${contender.name}: ${Math.round(result.perSecond)}/s, correct`,
      )
      return result
    })
    const summary = {
      options,
      machine,
      versions,
      settings: postgres.settings,
      ...summarize(results, measure.facts),
    }
    if (smoke) return
    say(tableOf(summary))
    await writeJson(summary)
    await writeChart(summary)
    if (options.cpuProf) for (const contender of contenders) await printProfile(contender, options.mode)
  } finally {
    generator.stop()
    await postgres.stop()
  }
}

/**
 * @param {readonly import('./contenders.mjs').Contender[]} contenders
 * @param {import('./modes/round.mjs').Bench} bench
 * @returns {Promise<{ run(contender: import('./contenders.mjs').Contender): Promise<import('./report/summary.mjs').Measured>, facts?: object }>}
 */
async function measureOf(contenders, bench) {
  switch (bench.options.mode) {
    case 'accept':
      return { run: (contender) => acceptRound(contender, bench) }
    case 'end-to-end':
      return { run: (contender) => endToEndRound(contender, bench) }
    case 'drain':
      return { run: (contender) => drainRound(contender, bench) }
    case 'latency': {
      const rate = await commonRate(contenders, bench)
      progress(`half of the slowest peak: ${rate}/s`)
      return { run: (contender) => latencyRound(contender, bench, rate), facts: { rate } }
    }
  }
}

/**
 * @param {import('./options.mjs').Options} options
 * @param {{ machine: any, versions: Record<string, string>, settings: Record<string, string> }} on
 */
function heading(options, { machine, versions, settings }) {
  const { mode, seconds, rounds, connections, bodyBytes, duplicates, backlog, effect } = options
  const load =
    mode === 'drain'
      ? `backlog of ${backlog} jobs`
      : `${bodyBytes} bytes a delivery, ${duplicates} % duplicates, ${connections} connections, ${seconds} s`
  return [
    '',
    `${mode}: ${load}, median of ${rounds}${mode === 'end-to-end' ? `; hookonce writes by "${effect}"` : ''}`,
    `${machine.cores} cores (${machine.cpu}), load generator included`,
    `Node ${versions.node}, PostgreSQL ${versions.postgres}${versions.redis ? `, Redis ${versions.redis}` : ''}; ` +
      `fsync ${settings.fsync}, synchronous_commit ${settings.synchronous_commit}, wal_sync_method ${settings.wal_sync_method}, ` +
      `shared_buffers ${settings.shared_buffers}`,
    '',
  ].join('\n')
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`)
}

/** @param {string} text */
function progress(text) {
  process.stderr.write(`  ${text}\n`)
}
