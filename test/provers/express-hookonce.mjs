// The receiver of the tests of `hookonce prove`, with Express and hookonce. It must pass all
// schedules.
import express from 'express'
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

const { PORT, DATABASE_URL, DOWNSTREAM, STRIPE_WEBHOOK_SECRET: secret } = process.env
const hooks = hookonce({
  database: DATABASE_URL,
  sources: { stripe: stripe({ secret }) },
  leaseMs: 1_000,
  retry: { baseDelayMs: 100, maxDelayMs: 500 },
})

hooks.on('stripe', 'invoice.*', async (event, ctx) => {
  const { id, amount_paid: amount } = event.object
  await ctx.latest(`invoice:${id}`, event.version, async (tx) => {
    await tx.query(
      `insert into invoice (id, amount, version) values ($1, $2, $3)
       on conflict (id) do update set amount = excluded.amount, version = excluded.version`,
      [id, amount, event.payload.created],
    )
    await tx.query('insert into payment (invoice_id) values ($1)', [id])
  })
  await ctx.fetch(`${DOWNSTREAM}/emails`, {
    effect: `receipt-email:${id}`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ invoice: id }),
  })
})

const app = express()
app.post('/webhooks/stripe', hooks.node({ source: 'stripe' }))
await hooks.start()
app.listen(Number(PORT), '127.0.0.1')
