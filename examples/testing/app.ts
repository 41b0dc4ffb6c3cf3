import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import express from 'express'
import { hookonce } from 'hookonce'
import { drizzleAdapter } from 'hookonce/adapters/drizzle'
import { stripe } from 'hookonce/sources'
import pg from 'pg'

export const payments = pgTable('payments', {
  invoice: text('invoice').primaryKey(),
  amount: integer('amount').notNull(),
})

export const customers = pgTable('customers', {
  id: text('id').primaryKey(),
  email: text('email').notNull(),
})

export interface Settings {
  readonly database: string
  readonly stripeSecret: string
  readonly mailUrl: string
}

export function createApp({ database, stripeSecret, mailUrl }: Settings) {
  const pool = new pg.Pool({ connectionString: database })
  pool.on('error', (error) => console.error(error))
  const on = drizzleAdapter(drizzle(pool))
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret: stripeSecret }) } })

  hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
    const { id, amount_paid: amount } = event.object as { id: string; amount_paid: number }
    await ctx.transaction((_, tx) => tx.insert(payments).values({ invoice: id, amount }), { on })
    await ctx.fetch(`${mailUrl}/mails`, { method: 'POST', effect: `receipt:${id}`, body: `receipt of ${id}` })
  })

  hooks.on('stripe', 'customer.updated', async (event, ctx) => {
    const { id, email } = event.object as { id: string; email: string }
    await ctx.latest(`customer:${id}`, event.version, (tx) =>
      tx.query(
        `insert into customers (id, email) values ($1, $2)
         on conflict (id) do update set email = excluded.email`,
        [id, email],
      ),
    )
  })

  const app = express()
  app.use('/webhooks', hooks.express())
  return { hooks, app, close: () => pool.end() }
}
