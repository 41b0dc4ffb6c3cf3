import { hookonce } from 'hookonce'
import { shopify } from 'hookonce/sources'

/** The part of Shopify's order that this app uses. */
interface Order {
  readonly id: number
  readonly line_items: readonly { readonly sku: string; readonly quantity: number }[]
}

export interface Settings {
  /** Undefined: a PostgreSQL of its own, under .hookonce/. */
  readonly database: string | undefined
  readonly shopifySecret: string
}

/** Not started: Next.js receives, and src/worker.ts works. */
export function createHooks({ database, shopifySecret }: Settings) {
  const hooks = hookonce({
    database,
    sources: { shopify: shopify<{ 'orders/paid': Order }>({ secret: shopifySecret }) },
  })

  hooks.on('shopify', 'orders/paid', async (event, ctx) => {
    const order = event.payload
    await ctx.transaction((tx) =>
      // Once per order, not once per event: two subscriptions of a shop send two events.
      tx.effect(`stock:${order.id}`, async () => {
        await tx.query('insert into orders (id) values ($1)', [order.id])
        for (const { sku, quantity } of order.line_items)
          await tx.query('update stock set quantity = quantity - $2 where sku = $1', [sku, quantity])
      }),
    )
  })
  return hooks
}
