import { type Inline, inline } from 'hookonce/inline'
import type { KeyStore } from 'hookonce/keys'
import { stripe } from 'hookonce/sources'

export interface Settings {
  /** Remembers which events were handled, and how far. */
  readonly store: KeyStore
  readonly stripeSecret: string
  readonly mailUrl: string
  /** When a run counts as dead, after its last sign of life. Default: a minute. */
  readonly lockMs?: number
}

/** Handles each event inside its request: there is no worker, and no PostgreSQL. */
export function createReceiver({ store, stripeSecret, mailUrl, lockMs = 60_000 }: Settings): Inline {
  return inline(
    stripe({ secret: stripeSecret }),
    async (event, { step }) => {
      // A finished step is not repeated by a run that follows a failure or a crash. A step that was
      // in progress runs again with the same key.
      await step('receipt', async ({ idempotencyKey }) => {
        const reply = await fetch(`${mailUrl}/emails`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
          body: JSON.stringify({
            to: event.object.customer_email,
            subject: `Your receipt for ${event.objectId}`,
          }),
        })
        if (!reply.ok) throw new Error(`the mail service answered ${reply.status}`)
      })
    },
    { store, types: ['invoice.paid'], lockMs },
  )
}
