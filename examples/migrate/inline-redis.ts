import { createServer } from 'node:http'
import { inline } from 'hookonce/inline'
import { redisKeys } from 'hookonce/keys'
import { stripe } from 'hookonce/sources'

export function inlineApp(
  url: string,
  secret: string,
  fulfil: (invoice: string, key: string) => Promise<void>,
) {
  const store = redisKeys({ url })
  const hooks = inline(
    stripe({ secret }),
    (event, { step }) =>
      step('fulfil', ({ idempotencyKey }) => fulfil(String(event.objectId), idempotencyKey)),
    { store, types: ['invoice.paid'] },
  )
  return { app: createServer(hooks.node), close: () => store.close() }
}
