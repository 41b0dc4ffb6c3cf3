import type { Event } from '../model/event.ts'
import { post } from '../outgoing/post.ts'
import { standardWebhooks } from '../sources/catalogue/standard-webhooks.ts'
import type { SigningSource } from '../sources/sign.ts'

/** An app in any language that wants events by HTTP. */
export interface Destination {
  readonly url: string
  /** `whsec_…`: signs what we send, as Standard Webhooks describe it. */
  readonly secret: string
}

/** The part of a handler's context that forwarding needs. */
interface ForwardContext {
  readonly signal: AbortSignal
  idempotencyKey(name: string): string
}

/** They concern the delivery to us, not the one from us. */
const NOT_FORWARDED = new Set(['host', 'content-length', 'accept-encoding'])

/**
 * A handler that hands each event on: original bytes and headers, a `webhook-id` that is the same on every
 * attempt and replay, a signature and an Idempotency-Key of ours. A 2xx completes the job; anything else is
 * tried again.
 */
export function forwardTo({
  url,
  secret,
}: Destination): (event: Event, ctx: ForwardContext) => Promise<void> {
  const signer = standardWebhooks({ secret })
  return async (event, ctx) => {
    const headers = headersFor(event, signer, ctx.idempotencyKey('forward'))
    await post({ url, headers, body: event.body, signal: ctx.signal, failure: 'FORWARD_FAILED' })
  }
}

function headersFor(event: Event, signer: SigningSource, idempotencyKey: string): Record<string, string> {
  const signed = signer.sign({ body: event.body, id: event.receiptId })
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(event.headers)) {
    if (NOT_FORWARDED.has(name)) continue
    // Where the sender itself uses these names, its values stay readable beside ours.
    headers[name in signed && name !== 'content-type' ? `original-${name}` : name] = value
  }
  return {
    ...signed,
    ...headers,
    'idempotency-key': idempotencyKey,
    'hookonce-source': event.source,
    'hookonce-event-type': encodeURI(event.type),
  }
}
