import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

export function rotatingHooks(database: string, env: NodeJS.ProcessEnv) {
  const hooks = hookonce({
    database,
    // The new one first. One that is not set is left out.
    sources: { stripe: stripe({ secret: [env.STRIPE_WEBHOOK_SECRET, env.STRIPE_WEBHOOK_SECRET_OLD] }) },
  })
  hooks.on('stripe', 'invoice.paid', (event, ctx) => {
    ctx.write({ text: 'insert into payments (invoice) values ($1)', values: [event.object.id], rows: 1 })
  })
  return hooks
}
