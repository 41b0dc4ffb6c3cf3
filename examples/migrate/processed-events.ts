import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

export function invoiceHooks(database: string, secret: string) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret }) } })

  hooks.on('stripe', 'invoice.paid', async (event, ctx) => {
    await ctx.transaction(async (tx) => {
      // The old route marks events in this table, in the transaction of their writes. While both run,
      // the one that comes second finds the mark and does nothing.
      const marked = await tx.query(
        'insert into processed_events (id) values ($1) on conflict do nothing returning id',
        [event.key],
      )
      if (marked.rows.length === 0) return
      await tx.query('insert into payments (invoice) values ($1)', [event.object.id])
    })
  })
  return hooks
}
