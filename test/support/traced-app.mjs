// One of several processes that handle an event: it receives, works or relays, with the SDK of
// OpenTelemetry. Runs on the built package.
import './file-tracer.mjs'
import { createServer } from 'node:http'
import { trace } from '@opentelemetry/api'
import { hookonce, Permanent } from '../../dist/index.js'
import { openTelemetry } from '../../dist/observe/opentelemetry/index.js'
import { toHttp } from '../../dist/publishers/index.js'
import { custom } from '../../dist/sources/index.js'

const config = JSON.parse(process.env.APP_CONFIG)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const logger = Object.fromEntries(
  ['info', 'warn', 'error'].map((level) => [level, (fields, message) => say({ level, message, ...fields })]),
)

const hooks = hookonce({
  database: config.database,
  sources: { test: custom({ ...config.sender, unwanted: 'record' }) },
  outbox: { publishers: config.publishTo ? { '*': toHttp(config.publishTo) } : 'elsewhere' },
  observers: [openTelemetry(config.openTelemetry)],
  logger,
  pollMs: 20,
})
const handleInline = (event) => {
  trace.getTracer('app').startActiveSpan('work', (span) => span.end())
  if (event.type === 'fail') throw new Error(`no such customer: ${event.payload.secret}`)
}
const inline = config.role === 'inline' ? hooks.inline('test', handleInline) : undefined
if (config.role !== 'relay' && !inline)
  hooks.on(
    'test',
    '*',
    async (event, ctx) => {
      if (event.type === 'fail') throw new Permanent(`no such customer: ${event.payload.secret}`)
      await ctx.step('look', () => 1)
      await ctx.effect(`mail:${event.key}`, () => 'sent')
      await ctx.transaction((tx) => void tx.publish('told', { id: event.key }))
    },
    { name: 'app' },
  )

let server
if (config.role === 'receive' || inline) {
  await hooks.ledger()
  const receive = inline ? inline.node : hooks.node()
  const tracer = trace.getTracer('app')
  /** Like an instrumentation of HTTP. */
  const instrumented = (request, response) =>
    tracer.startActiveSpan('request', { root: true }, async (span) => {
      await receive(request, response)
      span.end()
    })
  server = createServer(config.instrumented ? instrumented : receive)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
} else {
  await hooks.start()
}
process.once('SIGTERM', async () => {
  server?.close()
  await hooks.stop()
  process.exit(0)
})
say({ ready: true, port: server?.address().port, pid: process.pid })
