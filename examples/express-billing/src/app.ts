import { drizzle } from 'drizzle-orm/node-postgres'
import express from 'express'
import { hookonce } from 'hookonce'
import { drizzleAdapter } from 'hookonce/adapters/drizzle'
import type { Publish } from 'hookonce/publishers'
import { stripe } from 'hookonce/sources'
import pg from 'pg'
import type Stripe from 'stripe'
import { invoices } from './tables.ts'

export interface Settings {
  readonly database: string
  readonly stripeSecret: string
  readonly mailUrl: string
  /** Reads an invoice from Stripe. */
  readonly fetchInvoice: (id: string) => Promise<Stripe.Invoice>
  /** Hands a message over to accounting. */
  readonly accounting: Publish
}

export function createApp({ database, stripeSecret, mailUrl, fetchInvoice, accounting }: Settings) {
  const pool = new pg.Pool({ connectionString: database })
  pool.on('error', (error) => console.error(error))
  const on = drizzleAdapter(drizzle(pool))
  const hooks = hookonce({
    database,
    sources: { stripe: stripe<Stripe.Event>({ secret: stripeSecret }) },
    outbox: { publishers: { 'invoice.*': accounting } },
  })

  // The row of an invoice follows its newest event. Stripe's dates count seconds, so two events can
  // have the same date: then the invoice is read from Stripe.
  hooks.on('stripe', ['invoice.finalized', 'invoice.paid', 'invoice.voided'], async (event, ctx) => {
    const { id } = event.object
    const update = { tie: 'refetch', refetch: () => fetchInvoice(id) } as const
    await ctx.transaction(
      async (tx, db) => {
        await tx.latest(
          `invoice:${id}`,
          event.version,
          async (current) => {
            const { status, amount_paid: amountPaid } = current ?? event.object
            const row = { status: status ?? 'draft', amountPaid }
            await db
              .insert(invoices)
              .values({ id, ...row })
              .onConflictDoUpdate({ target: invoices.id, set: row })
            // Committed with the row, or not at all.
            tx.publish('invoice.changed', { id, status }, { key: id })
          },
          update,
        )
      },
      { on },
    )
  })

  // One e-mail per invoice, whichever events ask for it. The mail service honours the
  // Idempotency-Key.
  hooks.on('stripe', ['invoice.paid', 'invoice.payment_succeeded'], async (event, ctx) => {
    const { id, customer_email: to } = event.object
    if (to === null) return
    await ctx.fetch(`${mailUrl}/emails`, {
      effect: `receipt-email:${id}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to, subject: `Your receipt for ${id}` }),
    })
  })

  const app = express()
  app.use('/webhooks', hooks.express())
  app.use(express.json())
  app.get('/invoices', async (_, response) => {
    response.json(await drizzle(pool).select().from(invoices))
  })
  return { hooks, app, close: () => pool.end() }
}
