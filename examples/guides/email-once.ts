import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

type Send = (mail: { to: string; subject: string }, signal: AbortSignal) => Promise<void>

export function mailHooks(database: string, secret: string, send: Send) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret }) } })

  hooks.on('stripe', ['invoice.paid', 'invoice.payment_succeeded'], async (event, ctx) => {
    const to = String(event.object.customer_email)
    // SMTP knows no idempotency key, so a mail whose outcome is unknown is never sent again by itself.
    await ctx.effect(
      `receipt-email:${event.object.id}`,
      ({ signal }) => send({ to, subject: `Your receipt for ${event.object.id}` }, signal),
      { mode: 'atMostOnce' },
    )
  })
  return hooks
}
