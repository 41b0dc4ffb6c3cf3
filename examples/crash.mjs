import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

const hooks = hookonce({
  database: process.env.DATABASE_URL,
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
  leaseMs: 2_000, // a crash is noticed after 2 seconds; the default is 30 seconds
})

hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
  ctx.write({ text: 'insert into payments (invoice) values ($1)', values: [event.objectId], rows: 1 })
  console.log(`attempt ${ctx.attempt} for ${event.objectId}`)
  if (process.env.CRASH && ctx.attempt === 1) {
    await delay(500) // the reply to the sender is on its way
    process.kill(process.pid, 'SIGKILL')
  }
  if (process.env.MAIL_URL)
    await ctx.fetch(process.env.MAIL_URL, {
      effect: `receipt:${event.objectId}`,
      method: 'POST',
      body: JSON.stringify({ invoice: event.objectId }),
    })
})

const { business } = await hooks.ledger()
await business.query('create table if not exists payments (invoice text primary key)')
const port = process.env.PORT ?? 3000
createServer(hooks.node()).listen(port, () => console.log(`POST http://127.0.0.1:${port}/webhooks/stripe`))
await hooks.start()

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => hooks.stop().then(() => process.exit()))
