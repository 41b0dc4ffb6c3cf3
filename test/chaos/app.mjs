// An app on hookonce that receives and works while the nemesis acts. Runs on the built package, or on
// a build that was broken on purpose.
import { createServer } from 'node:http'
import { setSkew } from '../support/skewed-clock.mjs'

const config = JSON.parse(process.env.APP_CONFIG)
const { hookonce } = await import(`${config.dist}/index.js`)
const { custom } = await import(`${config.dist}/sources/index.js`)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const quiet = () => undefined

const hooks = hookonce({
  database: config.database,
  sources: { test: custom(config.sender) },
  logger: { info: quiet, warn: quiet, error: quiet },
  maxConnections: 6,
  leaseMs: 1_500,
  pollMs: 100,
  retry: { maxAttempts: 1_000, maxAgeMs: config.ages.maxAgeMs, baseDelayMs: 50, maxDelayMs: 500 },
  retention: config.ages.retention,
  outbox: { publishers: { '*': publish } },
})

const post = { method: 'POST', body: '{}' }
const callTo = (path) => async (call) => {
  const reply = await call.fetch(`${config.downstream}${path}`, post)
  if (!reply.ok) throw new Error(`answered ${reply.status}`)
  return reply.json()
}

async function publish({ id, topic }) {
  const headers = { 'idempotency-key': id }
  const reply = await fetch(`${config.downstream}/${topic}`, { ...post, headers })
  if (!reply.ok) throw new Error(`answered ${reply.status}`)
}

const patience = { timeoutMs: 5_000 }

hooks.on(
  'test',
  '*',
  async ({ payload: { version: event } }, ctx) => {
    await ctx.effect(`keyed:${event}`, callTo(`/keyed/${event}`), { mode: 'keyed' })
    ctx.write({ text: 'insert into written (event) values ($1)', values: [event], rows: 1 })
    ctx.publish(`told/${event}`, { event })
  },
  { name: 'write', ...patience },
)

hooks.on(
  'test',
  '*',
  async ({ payload: { version: event } }, ctx) => {
    await ctx.effect(`once:${event}`, callTo(`/once/${event}`), { mode: 'atMostOnce' })
    await ctx.transaction((tx) => tx.query('insert into transacted (event) values ($1)', [event]))
  },
  { name: 'transaction', ...patience },
)

hooks.on(
  'test',
  '*',
  async ({ payload: { entity, version } }, ctx) => {
    await ctx.latest(entity, version, (tx) =>
      tx.query('insert into version (entity, event) values ($1, $2)', [entity, version]),
    )
  },
  { name: 'latest', ...patience },
)

hooks.on(
  'test',
  '*',
  ({ payload: { entity, version: event } }, ctx) =>
    ctx.write({
      text: 'insert into sequence (entity, event) values ($1, $2)',
      values: [entity, event],
      rows: 1,
    }),
  { name: 'ordered', ordered: (event) => event.payload.entity, ...patience },
)

// The name changes with each deploy. The key of its effect does not.
hooks.on(
  'test',
  '*',
  ({ payload: { version: event } }, ctx) =>
    ctx.transaction((tx) =>
      tx.effect(`renamed:${event}`, async () => {
        await tx.query('insert into renamed (event) values ($1)', [event])
      }),
    ),
  { name: config.renamed, ...patience },
)

// Without it, the process only receives.
if (config.isWorking) await hooks.start()
const receive = hooks.node()
const server = createServer((request, response) => {
  const skew = /^\/clock\/(-?\d+)$/.exec(request.url)
  if (!skew) return receive(request, response)
  setSkew(Number(skew[1]))
  response.end()
})
await new Promise((resolve) => server.listen(config.port ?? 0, '127.0.0.1', resolve))
process.once('SIGTERM', async () => {
  server.close()
  await hooks.stop({ drainMs: 500 })
  process.exit(0)
})
say({ ready: true, port: server.address().port })
