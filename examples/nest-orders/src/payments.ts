import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

/** Stripe's webhooks. The order is in the metadata of its PaymentIntent. */
export function paymentHooks(database: string, stripeSecret: string) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret: stripeSecret }) } })

  hooks.on('stripe', 'payment_intent.succeeded', (event, ctx) => {
    const { order } = event.object.metadata as { order: string }
    // Committed with the completion of the event. Without such an order the event is retried.
    ctx.write({ text: `update orders set status = 'paid' where id = $1`, values: [order], rows: 1 })
  })
  return hooks
}
