import { createServer } from 'node:http'
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

export function redisApp(
  database: string,
  secret: string,
  fulfil: (invoice: string, key: string) => Promise<void>,
) {
  const hooks = hookonce({ database, sources: { stripe: stripe({ secret }) } })
  hooks.on('stripe', 'invoice.paid', (event, ctx) =>
    ctx.effect(`fulfil:${event.object.id}`, ({ idempotencyKey }) => fulfil(event.object.id, idempotencyKey)),
  )
  return { hooks, app: createServer(hooks.node()) }
}
