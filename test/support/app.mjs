// An app on hookonce, to be killed, frozen and blocked by the tests. Runs on the built package.
// Its configuration is JSON in the environment; it tells what happens in lines of JSON on standard output.
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { hookonce, Permanent } from '../../dist/index.js'
import { custom } from '../../dist/sources/index.js'

const config = JSON.parse(process.env.APP_CONFIG)
const pool = new pg.Pool({ connectionString: config.database, max: 4 })
pool.on('error', () => undefined)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const hooks = hookonce({
  database: config.database,
  sources: {
    test: custom({
      provider: 'test',
      secret: 'secret-of-the-tests',
      signature: { algorithm: 'hmac-sha256', header: 'test-signature', encoding: 'hex' },
      event: { key: 'json:id', type: 'json:type' },
    }),
  },
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
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, event.payload.ms)
    say({ unblocked: event.receiptId })
  },
  crash() {
    process.kill(process.pid, 'SIGKILL')
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
  { name: 'app', ...config.subscriber },
)

if (config.works !== false) await hooks.start()
else await hooks.ledger()
let server
if (config.receives !== false) {
  server = createServer(hooks.node())
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
}
say({ ready: true, port: server?.address().port, pid: process.pid })

process.once('SIGTERM', async () => {
  server?.close()
  await hooks.stop(config.stop ?? {})
  await pool.end()
  say({ stopped: true })
  process.exit(0)
})
