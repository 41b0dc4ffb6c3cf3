import { createServer } from 'node:http'
import { hookonce } from 'hookonce'
import { toHttp } from 'hookonce/publishers'
import { stripe } from 'hookonce/sources'

const hooks = hookonce({
  database: process.env.DATABASE_URL,
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
  outbox: {
    publishers: {
      // Signed by Standard Webhooks; the message's id is the webhook-id and idempotency-key.
      'invoice.*': toHttp({ url: process.env.SHIPPING_URL, secret: process.env.SHIPPING_SECRET }),
      // Or your own function; the message counts as published when it returns.
      'audit.*': (message) => console.log(`audit ${message.id}: ${message.body}`),
    },
  },
})

hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
  const invoice = event.objectId
  await ctx.transaction(async (tx) => {
    await tx.query('insert into payments (invoice) values ($1)', [invoice])
    // Committed with the payment, or not at all. Messages of one invoice are published in commit
    // order.
    tx.publish('invoice.paid', { invoice }, { key: invoice })
  })
  // Committed with the job's completion, when the handler returns.
  ctx.publish('audit.invoice', { invoice, event: event.key })
})

const { business } = await hooks.ledger()
await business.query('create table if not exists payments (invoice text primary key)')
createServer(hooks.node()).listen(process.env.PORT ?? 3000) // POST /webhooks/stripe
await hooks.start() // the worker, and the relay that publishes

process.once('SIGTERM', () => hooks.stop().then(() => process.exit()))
