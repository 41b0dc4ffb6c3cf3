import type { RequestListener } from 'node:http'
import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

/** The Stripe secret of each tenant. */
export function tenantApp(database: string, secrets: Readonly<Record<string, string>>) {
  const sources = Object.fromEntries(
    Object.entries(secrets).map(([tenant, secret]) => [`${tenant}/stripe`, stripe({ secret, tenant })]),
  )
  const hooks = hookonce({ database, sources })

  for (const source of Object.keys(sources))
    hooks.on(source, 'invoice.paid', (event, ctx) => {
      ctx.write({
        text: 'insert into payments (tenant, invoice) values ($1, $2)',
        values: [event.tenant, event.objectId],
        rows: 1,
      })
    })

  // For createServer(app): POST /webhooks/acme/stripe
  const receivers = new Map(
    Object.keys(sources).map((source) => [`/webhooks/${source}`, hooks.node({ source })]),
  )
  const app: RequestListener = (request, response) => {
    const receive = receivers.get(request.url ?? '')
    if (receive) receive(request, response)
    else response.writeHead(404).end()
  }
  return { hooks, app }
}
