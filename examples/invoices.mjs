import { createServer } from 'node:http'
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

const hooks = hookonce({
  database: process.env.DATABASE_URL, // none: a real PostgreSQL, embedded, under .hookonce/
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
})

hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
  // Committed together with "this event is processed", or not at all.
  ctx.write({ text: 'insert into payments (invoice) values ($1)', values: [event.objectId], rows: 1 })
  // Outside the database: a key that is the same on every attempt and replay.
  await sendReceipt(event.objectId, { idempotencyKey: ctx.idempotencyKey('receipt'), signal: ctx.signal })
})

const { business } = await hooks.ledger()
await business.query('create table if not exists payments (invoice text primary key)')
const port = process.env.PORT ?? 3000
createServer(hooks.node()).listen(port, () => console.log(`POST http://127.0.0.1:${port}/webhooks/stripe`))
await hooks.start() // the worker; leave it out in a process that only receives

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => hooks.stop().then(() => process.exit())) // drains; nothing is lost

async function sendReceipt(invoice, { idempotencyKey }) {
  console.log(`receipt for ${invoice}, Idempotency-Key: ${idempotencyKey}`)
}
