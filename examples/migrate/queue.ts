import { hookonce } from 'hookonce'
import { stripe } from 'hookonce/sources'

export interface Worker {
  handle(event: unknown, idempotencyKey: string): Promise<void>
}

export function queueHooks(database: string, secret: string, worker: Worker) {
  const hooks = hookonce({ database, concurrency: 16, sources: { stripe: stripe({ secret }) } })

  // What was a job of the queue is a job of a subscriber. Its name stays when the types change.
  hooks.on(
    'stripe',
    ['invoice.*', 'charge.*'],
    (event, ctx) => worker.handle(event.payload, ctx.idempotencyKey('handle')),
    { name: 'billing', timeoutMs: 120_000, retry: { maxAttempts: 10 }, rate: { perSecond: 50 } },
  )
  return hooks
}
