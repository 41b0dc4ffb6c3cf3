import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'

export const invoices = pgTable('invoices', {
  id: text('id').primaryKey(),
  status: text('status').notNull(),
  amountPaid: integer('amount_paid').notNull(),
})

/** In your app, drizzle-kit creates the tables. */
export async function createTables(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(`create table if not exists invoices (
    id text primary key,
    status text not null,
    amount_paid integer not null
  )`)
  await client.end()
}
