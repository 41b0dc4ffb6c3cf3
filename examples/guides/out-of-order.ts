import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

interface Subscription {
  readonly id: string
  readonly status: string
}

/** Reads a subscription from Stripe; undefined if it is gone. */
type Fetch = (id: string, signal: AbortSignal) => Promise<Subscription | undefined>

export function subscriptionHooks(database: string, secret: string, fetchSubscription: Fetch) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret }) } })

  hooks.on('stripe', 'customer.subscription.*', async (event, ctx) => {
    const id = event.object.id
    await ctx.latest(
      `subscription:${id}`,
      event.version,
      async (tx, current) => {
        const { status } = current ?? (event.object as unknown as Subscription)
        await tx.query(
          `insert into subscriptions (id, status) values ($1, $2)
           on conflict (id) do update set status = excluded.status`,
          [id, status],
        )
      },
      // Stripe's dates count seconds. For two events of one second, ask Stripe.
      {
        tie: 'refetch',
        refetch: () => fetchSubscription(id, ctx.signal),
        deleted: event.type === 'customer.subscription.deleted',
      },
    )
  })
  return hooks
}
