// The app under load: it receives and works in one process. Runs on the built package.
import { createServer } from 'node:http'

const config = JSON.parse(process.env.APP_CONFIG)
const { hookonce } = await import('../../dist/index.js')
const { custom } = await import('../../dist/sources/index.js')
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const quiet = () => undefined

const hooks = hookonce({
  database: config.database,
  sources: { test: custom(config.sender) },
  logger: { info: quiet, warn: quiet, error: quiet },
  limits: { maxWaiting: config.maxWaiting, retryAfterSeconds: 1 },
  retry: { maxAttempts: 20, baseDelayMs: 50, maxDelayMs: 500 },
})
hooks.on(
  'test',
  '*',
  (event, ctx) => {
    if (event.type === 'fails.first' && ctx.attempt === 1) throw new Error('the first attempt fails')
    ctx.write({ text: 'insert into public.effect (event) values ($1)', values: [event.key], rows: 1 })
  },
  { name: 'write' },
)
await hooks.start()
const server = createServer(hooks.node())
await new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve))
say({ ready: true, port: server.address().port })
