import { createServer } from 'node:http'
import { ConsoleSpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { hookonce } from 'hookonce'
import { openTelemetry } from 'hookonce/opentelemetry'
import { stripe } from 'hookonce/sources'

// Before openTelemetry(). Production has a file of its own for this: `node --import ./tracing.mjs
// app.mjs`.
const provider = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
})
provider.register()

const hooks = hookonce({
  database: process.env.DATABASE_URL,
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
  outbox: {
    publishers: { 'invoice.*': ({ headers }) => console.log('published with', headers.traceparent) },
  },
  observers: [openTelemetry()],
})

hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
  await ctx.effect(`receipt-email:${event.objectId}`, () => 'sent')
  await ctx.transaction(async (tx) => void tx.publish('invoice.paid', { invoice: event.objectId }))
})

createServer(hooks.node()).listen(process.env.PORT ?? 3000) // POST /webhooks/stripe
await hooks.start()

process.once('SIGTERM', async () => {
  await hooks.stop()
  await provider.shutdown()
  process.exit()
})
