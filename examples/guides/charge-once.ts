import { hookonce } from 'hookonce'
import { shopify } from 'hookonce/sources'

export function chargeHooks(database: string, secret: string, payments: string) {
  const hooks = hookonce({ database, sources: { shopify: shopify({ secret }) } })

  // Both events may ask for the charge. The effect's key makes it one charge per order.
  hooks.on('shopify', ['orders/create', 'orders/updated'], async (event, ctx) => {
    const order = event.object as { id: number; total_price: string; currency: string }
    const reply = await ctx.fetch(`${payments}/charges`, {
      effect: `charge:${order.id}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ order: order.id, amount: order.total_price, currency: order.currency }),
    })
    const charge = ((await reply.json()) as { id: string }).id
    await ctx.transaction((tx) =>
      tx.query('insert into charges (order_id, charge) values ($1, $2) on conflict do nothing', [
        order.id,
        charge,
      ]),
    )
  })
  return hooks
}
