// An app on hookonce that tests kill, freeze and block. Runs on the built package. Its
// configuration is JSON in the environment. It reports events as lines of JSON on standard output.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

const config = JSON.parse(process.env.APP_CONFIG)
// An older build, in a test of upgrades.
const dist = config.dist ?? '../../dist'
const { hookonce, Permanent } = await import(`${dist}/index.js`)
const { custom } = await import(`${dist}/sources/index.js`)
const pool = new pg.Pool({ connectionString: config.database, max: 4 })
pool.on('error', () => undefined)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const hooks = hookonce({
  database: config.database,
  sources: { test: custom(config.sender) },
  ...config.options,
})

const begin = (event, ctx) =>
  pool.query('insert into run (receipt_id, type, attempt, pid) values ($1, $2, $3, $4)', [
    event.receiptId,
    event.type,
    ctx.attempt,
    process.pid,
  ])
const effect = (event) =>
  pool.query('insert into effect (receipt_id, type, pid) values ($1, $2, $3)', [
    event.receiptId,
    event.type,
    process.pid,
  ])

const WRITE = 'insert into effect (receipt_id, type, pid) values ($1, $2, $3)'

const die = () => process.kill(process.pid, 'SIGKILL')

/** In any attempt: a busy machine may have cost it the first. */
async function isFirstProcess(event) {
  const others = 'select 1 from run where receipt_id = $1 and pid <> $2'
  return (await pool.query(others, [event.receiptId, process.pid])).rowCount === 0
}

const behaviours = {
  async count(event) {
    await effect(event)
  },
  async hang(event) {
    say({ hanging: event.receiptId })
    await new Promise(() => undefined)
  },
  async slow(event) {
    say({ slow: event.receiptId })
    await delay(event.payload.ms)
    await effect(event)
  },
  block(event) {
    say({ blocking: event.receiptId })
    const { ms, until } = event.payload
    const wait = (pauseMs) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    // For a time, or until the test creates a file.
    if (until === undefined) wait(ms)
    else while (!existsSync(until)) wait(20)
    say({ unblocked: event.receiptId })
  },
  async writeslow(event, ctx) {
    ctx.write({ text: WRITE, values: [event.receiptId, event.type, process.pid] })
    say({ writing: event.receiptId })
    await delay(event.payload.ms)
  },
  async writecrash(event, ctx) {
    ctx.write({ text: WRITE, values: [event.receiptId, event.type, process.pid] })
    if (await isFirstProcess(event)) die()
  },
  async txcrash(event, ctx) {
    const at = event.type.split('.')[1]
    const isFirst = await isFirstProcess(event)
    await ctx.transaction(async (tx) => {
      await tx.query(WRITE, [event.receiptId, event.type, process.pid])
      if (at === 'inside' && isFirst) die()
    })
    if (at === 'after' && isFirst) die()
  },
  async publishcrash(event, ctx) {
    const at = event.type.split('.')[1]
    const isFirst = await isFirstProcess(event)
    ctx.publish('end', 0)
    await ctx.transaction(async (tx) => {
      await tx.query(WRITE, [event.receiptId, event.type, process.pid])
      tx.publish('transaction', 0)
      if (at === 'inside' && isFirst) die()
    })
    if (at === 'after' && isFirst) die()
  },
  async hanguntil(event, ctx) {
    await (ctx.attempt < event.payload.attempt ? behaviours.hang(event) : effect(event))
  },
  // After the first attempt, no event of a group ends before this many of them run.
  async gather(event, ctx) {
    if (ctx.attempt === 1) return behaviours.hang(event)
    const running = 'select count(distinct receipt_id)::int as count from run where type = $1 and attempt > 1'
    while ((await pool.query(running, [event.type])).rows[0].count < event.payload.count) await delay(20)
    await effect(event)
  },
  async failfirst(event, ctx) {
    if (ctx.attempt === 1) throw new Error('the first attempt fails')
    await effect(event)
  },
  // Like the handler above, but only in the first attempt. The next attempt takes effect at once.
  async hangfirst(event, ctx) {
    await (ctx.attempt === 1 ? behaviours.hang(event) : effect(event))
  },
  async slowfirst(event, ctx) {
    if (ctx.attempt > 1) return effect(event)
    say({ slow: event.receiptId })
    await delay(event.payload.ms)
  },
  async blockfirst(event, ctx) {
    await (ctx.attempt === 1 ? behaviours.block(event) : effect(event))
  },
  // Hangs in the first process that runs it. Another process finishes it.
  async handover(event) {
    await ((await isFirstProcess(event)) ? behaviours.hang(event) : effect(event))
  },
  // Events with the same key request one call.
  async shared(event, ctx) {
    const key = `shared:${event.payload.key}`
    await ctx.effect(key, async () => void (await effect({ type: key })), { mode: 'keyed' })
  },
  async transaction(event, ctx) {
    await ctx.transaction((tx) => tx.query(WRITE, [event.receiptId, event.type, process.pid]))
  },
  write(event, ctx) {
    ctx.write({ text: WRITE, values: [event.receiptId, event.type, process.pid] })
  },
  crash() {
    die()
  },
  fail() {
    throw new Error('this always fails')
  },
  permanent() {
    throw new Permanent('this can never succeed')
  },
}

hooks.on(
  'test',
  '*',
  async (event, ctx) => {
    const behaviour = behaviours[event.type.split('.')[0]]
    if (!behaviour) throw new Error(`no behaviour for ${event.type}`)
    await begin(event, ctx)
    await behaviour(event, ctx)
    say({ handled: event.receiptId, attempt: ctx.attempt })
  },
  {
    name: 'app',
    ...config.subscriber,
    // `evt_<key>_<number>`
    ...(config.ordered ? { ordered: (event) => event.key.split('_')[1] ?? '' } : {}),
  },
)

if (config.works !== false) await hooks.start()
else await hooks.ledger()
let server
if (config.receives !== false) {
  server = createServer(hooks.node())
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
}
process.once('SIGTERM', async () => {
  server?.close()
  await hooks.stop(config.stop ?? {})
  await pool.end()
  say({ stopped: true })
  process.exit(0)
})
say({ ready: true, port: server?.address().port, pid: process.pid })
