// @ts-check
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startGenerator } from '../load/generator.mjs'
import { median } from '../load/percentiles.mjs'
import { checkAnswers } from '../modes/round.mjs'
import { cpuMicros, withParents } from '../servers/cpu.mjs'
import { endedInAnyCase } from '../servers/leftovers.mjs'
import { startPostgres } from '../servers/postgres.mjs'

/*
 * What each step of docs/scaling.md costs per event: several processes, receivers and workers apart, several ledgers,
 * several servers. All layouts share the cores of one machine, so their rates are no measure of a larger one. What
 * carries over is the CPU time per event, of the processes and of PostgreSQL: a step that leaves it as it is lets the
 * rate grow with the cores. Layouts alternate, and each round is short.
 */

const CONNECTIONS = 32
const BODY_BYTES = 1600
const WARM_UP_EVENTS = 1000
const APP = fileURLToPath(new URL('./ledgers-app.mjs', import.meta.url))
const PROCESSED_WITHIN_MS = 120_000

/**
 * @typedef {object} Layout
 * @property {string} name
 * @property {number} servers
 * @property {number} ledgers
 * @property {readonly { receives: boolean, works: boolean }[]} processes
 */

/** @typedef {{ databases: string[], ledgers: number, receives: boolean, works: boolean }} AppConfig */

const BOTH = { receives: true, works: true }
const RECEIVER = { receives: true, works: false }
const WORKER = { receives: false, works: true }

/** @type {readonly Layout[]} */
const LAYOUTS = [
  { name: 'one process', servers: 1, ledgers: 1, processes: [BOTH] },
  { name: 'two processes', servers: 1, ledgers: 1, processes: [BOTH, BOTH] },
  { name: 'receiver and worker apart', servers: 1, ledgers: 1, processes: [RECEIVER, WORKER] },
  { name: 'three ledgers on one server', servers: 1, ledgers: 3, processes: [BOTH] },
  { name: 'two ledgers on two servers', servers: 2, ledgers: 2, processes: [BOTH] },
  { name: 'three ledgers on three servers', servers: 3, ledgers: 3, processes: [BOTH] },
]

let rounds = 0

/** @param {import('../limits.mjs').Limits} limits */
export async function ledgers({ postgres, generator, rounds: times, events }) {
  const servers = [postgres, await startPostgres(undefined), await startPostgres(undefined)]
  const second = startGenerator()
  /** @type {Map<Layout, Awaited<ReturnType<typeof measured>>[]>} */
  const results = new Map(LAYOUTS.map((layout) => [layout, []]))
  try {
    for (let time = 0; time < times; time += 1)
      for (const layout of LAYOUTS) {
        const round = await measured(layout, { servers, generators: [generator, second], events }).catch(
          dropRefused,
        )
        process.stdout.write(`${layout.name}: ${JSON.stringify(round ?? 'dropped')}\n`)
        if (round) results.get(layout)?.push(round)
      }
  } finally {
    second.stop()
    for (const server of servers.slice(1)) await server.stop()
  }
  const [base] = [...results.values()].map((all) => median(all.map(({ total }) => total)))
  return [...results].map(([{ name }, all]) => ({
    layout: name,
    rounds: all.length,
    'processes µs/event': spread(all.map((one) => one.processes)),
    'PostgreSQL µs/event': spread(all.map((one) => one.store)),
    'both µs/event': spread(all.map((one) => one.total)),
    'CPU, ratio': (median(all.map((one) => one.total)) / (base ?? 1)).toFixed(2),
    'events/s': spread(all.map((one) => one.perSecond)),
  }))
}

/**
 * On a machine that is too busy, deliveries are refused, and the round has no number. Every other error ends the run.
 *
 * @param {unknown} error
 */
function dropRefused(error) {
  if (!(error instanceof Error && error.message.startsWith('deliveries were not acknowledged'))) throw error
  process.stderr.write(`a round does not count: ${error.message}\n`)
  return undefined
}

/**
 * @typedef {object} Means
 * @property {readonly import('../servers/postgres.mjs').Postgres[]} servers
 * @property {readonly import('../load/generator.mjs').Generator[]} generators
 * @property {number} events
 */

/**
 * One round: new databases, new processes, so many events, all of them processed and counted.
 *
 * @param {Layout} layout
 * @param {Means} means
 */
async function measured(layout, { servers, generators, events }) {
  const used = servers.slice(0, layout.servers)
  const databases = await Promise.all(used.map((server) => server.database()))
  const urls = databases.map(({ url }) => url)
  const config = { databases: urls, ledgers: layout.ledgers }
  const apps = []
  try {
    // One after the other: the first makes the ledgers.
    for (const process of layout.processes) apps.push(await startApp({ ...config, ...process }))
    const ports = apps.flatMap(({ port }) => port ?? [])
    const prefix = `${process.pid.toString(36)}l${(rounds++).toString(36)}x`
    const senders = generators.slice(0, ports.length)
    for (const [at, sender] of senders.entries()) {
      const port = ports[at] ?? 0
      const connections = CONNECTIONS / senders.length
      await sender.prepare({
        port,
        connections,
        prefix: `${prefix}${at}`,
        bodyBytes: BODY_BYTES,
        duplicates: 0,
      })
      await sender.stock({ count: (WARM_UP_EVENTS + events) / senders.length })
    }
    const cpu = async () => ({
      processes: cpuMicros(apps.map(({ pid }) => pid ?? 0)),
      store: cpuMicros(withParents((await Promise.all(used.map((server) => server.pids()))).flat())),
    })
    /** @param {number} count */
    const sendAll = async (count) => {
      const loads = await Promise.all(
        senders.map((sender) => sender.closed({ seconds: 60, count: count / senders.length, fresh: true })),
      )
      const all = loads.map(checkAnswers).reduce((sum, { unique }) => sum + unique, 0)
      await untilProcessed(databases, layout, all)
      return all
    }
    // Connections are opened and code is compiled before the clock runs.
    const warmed = await sendAll(WARM_UP_EVENTS)
    const before = await cpu()
    const startedAt = performance.now()
    const sent = (await sendAll(events)) - warmed
    const seconds = (performance.now() - startedAt) / 1000
    const after = await cpu()
    const processes = Math.round((after.processes - before.processes) / sent)
    const store = Math.round((after.store - before.store) / sent)
    return { processes, store, total: processes + store, perSecond: Math.round(sent / seconds) }
  } finally {
    for (const app of apps) await app.stop()
    for (const database of databases) await database.drop()
  }
}

/**
 * Every event has one receipt and one processed job, and each ledger has its part of them.
 *
 * @param {readonly import('../servers/postgres.mjs').Database[]} databases
 * @param {Layout} layout
 * @param {number} expected
 */
async function untilProcessed(databases, { ledgers: count, name }, expected) {
  const end = performance.now() + PROCESSED_WITHIN_MS
  for (;;) {
    const found = await Promise.all(
      Array.from({ length: count }, async (_, number) => {
        const schema = count === 1 ? 'hookonce' : `hookonce_${number}`
        const counts = `select (select count(*)::int from ${schema}.receipt) as receipts,
          (select count(*)::int from ${schema}.job where state = 'processed') as processed`
        const { rows } = await /** @type {any} */ (databases[number % databases.length]).pool.query(counts)
        return /** @type {{ receipts: number, processed: number }} */ (rows[0])
      }),
    )
    const receipts = found.reduce((sum, one) => sum + one.receipts, 0)
    const processed = found.reduce((sum, one) => sum + one.processed, 0)
    if (receipts !== expected) throw new Error(`${name}: ${receipts} receipts for ${expected} events`)
    if (found.some((one) => one.receipts === 0)) throw new Error(`${name}: a ledger has no event`)
    if (processed === expected) return
    if (performance.now() > end) throw new Error(`${name}: ${processed} of ${expected} jobs are processed`)
    await delay(20)
  }
}

/** @param {AppConfig} config */
async function startApp(config) {
  const child = spawn(process.execPath, [APP], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', BENCH_LAYOUT: JSON.stringify(config) },
  })
  const exited = once(child, 'exit')
  const stop = endedInAnyCase(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => {
      throw new Error(`a process of the layout ended with ${code}`)
    }),
  ])
  const { port } = /** @type {{ port?: number }} */ (JSON.parse(String(line)))
  return { pid: child.pid, port, stop }
}

/**
 * The median, and the lowest and highest.
 *
 * @param {readonly number[]} values
 */
function spread(values) {
  if (values.length === 0) return 'none'
  return `${median([...values])} (${Math.min(...values)}–${Math.max(...values)})`
}
