import { once } from 'node:events'
import { toHttp } from 'hookonce/publishers'
import Stripe from 'stripe'
import { createApp } from './app.ts'
import { openDatabase } from './database.ts'
import { printMails } from './print-mails.ts'
import { createTables } from './tables.ts'

const { STRIPE_WEBHOOK_SECRET, STRIPE_API_KEY, MAIL_URL, ACCOUNTING_URL, ACCOUNTING_SECRET } = process.env
if (!STRIPE_WEBHOOK_SECRET) throw new Error('set STRIPE_WEBHOOK_SECRET; for a try, whsec_try will do')

const { url: database, close: closeDatabase } = await openDatabase()
await createTables(database)
const { hooks, app, close } = createApp({
  database,
  stripeSecret: STRIPE_WEBHOOK_SECRET,
  mailUrl: MAIL_URL ?? (await printMails()),
  async fetchInvoice(id) {
    if (!STRIPE_API_KEY) throw new Error(`set STRIPE_API_KEY to read the invoice ${id}`)
    return new Stripe(STRIPE_API_KEY).invoices.retrieve(id)
  },
  accounting:
    ACCOUNTING_URL && ACCOUNTING_SECRET
      ? toHttp({ url: ACCOUNTING_URL, secret: ACCOUNTING_SECRET })
      : ({ topic, body }) => console.log(`to accounting: ${topic} ${body}`),
})

await hooks.start()
const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port)
await once(server, 'listening')
console.log(`POST http://127.0.0.1:${port}/webhooks/stripe`)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    server.close()
    await hooks.stop() // lets running handlers finish
    await close()
    await closeDatabase()
    process.exit()
  })
