// Processes paid invoices. Stripe sends events late, twice and out of order, and a worker may crash
// in the middle. The result is still one row with the latest status, one message per change, and
// one receipt email.
import { createServer } from 'node:http'
import { hookonce } from 'hookonce'
import { toHttp } from 'hookonce/publishers'
import { stripe } from 'hookonce/sources'

const hooks = hookonce({
  database: process.env.DATABASE_URL, // none: a real PostgreSQL, embedded, under .hookonce/
  sources: { stripe: stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }) },
  outbox: {
    publishers: {
      'invoice.*': toHttp({ url: process.env.ACCOUNTING_URL, secret: process.env.ACCOUNTING_SECRET }),
    },
  },
  leaseMs: Number(process.env.LEASE_MS ?? 30_000),
})

// Applies every event of an invoice if it is newer than the stored state. Stripe's timestamps count
// seconds, so two events can have the same version. Then `refetch` reads the current invoice from
// Stripe.
hooks.on(
  'stripe',
  'invoice.*',
  async (event, ctx) => {
    const { id } = event.object
    await ctx.latest(
      `invoice:${id}`,
      event.version,
      async (tx, current) => {
        const { status, amount_paid: amount } = current ?? event.object
        await tx.query(
          `insert into invoices (id, status, amount) values ($1, $2, $3)
           on conflict (id) do update set status = excluded.status, amount = excluded.amount`,
          [id, status, amount],
        )
        // Committed with the change, or not at all. Messages of one invoice are published in commit
        // order.
        tx.publish('invoice.changed', { id, status }, { key: id })
      },
      { tie: 'refetch', refetch: () => fetchInvoice(id, ctx.signal) },
    )
  },
  { name: 'invoices' },
)

// Sends one email per paid invoice, across all events. The mail service honours the
// Idempotency-Key.
hooks.on(
  'stripe',
  'invoice.paid',
  async (event, ctx) => {
    const { id, customer_email: to } = event.object
    await ctx.fetch(`${process.env.MAIL_URL}/send`, {
      effect: `receipt-email:${id}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to, subject: `Your receipt for ${id}` }),
    })
  },
  { name: 'receipts' },
)

async function fetchInvoice(id, signal) {
  const reply = await fetch(`${process.env.STRIPE_URL}/v1/invoices/${id}`, { signal })
  if (!reply.ok) throw new Error(`Stripe answered ${reply.status} for invoice ${id}`)
  return reply.json()
}

const { business } = await hooks.ledger()
await business.query(`create table if not exists invoices (
  id text primary key,
  status text not null,
  amount integer
)`)
const server = createServer(hooks.node()).listen(process.env.PORT ?? 3000) // POST /webhooks/stripe
await hooks.start()

process.once('SIGTERM', async () => {
  server.close()
  await hooks.stop()
  process.exit()
})
