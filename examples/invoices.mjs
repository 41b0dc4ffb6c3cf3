import { createServer } from 'node:http'
import { hookonce, Permanent } from 'hookonce'
import { stripe } from 'hookonce/sources'

const hooks = hookonce({
  database: process.env.DATABASE_URL, // none: a real PostgreSQL, embedded, under .hookonce/
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
})

hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
  if (!event.objectId) throw new Permanent('an invoice without an id')
  // A key that is the same on every attempt and replay: hand it to whatever you call.
  await sendReceipt(event.objectId, { idempotencyKey: ctx.idempotencyKey('receipt'), signal: ctx.signal })
})

createServer(hooks.node()).listen(process.env.PORT ?? 3000) // POST /webhooks/stripe
await hooks.start() // the worker; a process may only receive, or only work

process.once('SIGTERM', () => hooks.stop().then(() => process.exit())) // drains; nothing is lost

async function sendReceipt(invoice, { idempotencyKey }) {
  console.log(`receipt for ${invoice}, Idempotency-Key: ${idempotencyKey}`)
}
