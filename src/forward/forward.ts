import { post } from '../http/post.ts'
import type { Event } from '../model/event.ts'
import { standardWebhooks } from '../sources/catalogue/standard-webhooks.ts'
import type { SigningSource } from '../sources/sign.ts'
import { forwardable } from './headers.ts'

/** An app in any language that gets events by HTTP. */
export interface Destination {
  readonly url: string
  /** `whsec_…`: signs each request, as in Standard Webhooks. */
  readonly secret: string
  /** Headers of the delivery to forward, besides those that the source reads. */
  readonly headers?: readonly string[] | undefined
}

/** The part of a handler's context that forwarding needs. */
interface ForwardContext {
  readonly signal: AbortSignal
  idempotencyKey(name: string): string
}

/**
 * A handler that forwards each event of a source: the original bytes, an allow-list of the original
 * headers, a `webhook-id` that is the same on every attempt and replay, our signature and our
 * Idempotency-Key. A 2xx completes the job; anything else is retried.
 */
export function forwardTo(
  { url, secret, headers: extraHeaders = [] }: Destination,
  { description }: Pick<SigningSource, 'description'>,
): (event: Event, ctx: ForwardContext) => Promise<void> {
  const signer = standardWebhooks({ secret })
  const isForwarded = forwardable(description, extraHeaders)
  return async (event, ctx) => {
    const signed = signer.sign({ body: event.body, id: event.receiptId })
    const headers = {
      ...signed,
      ...originalHeaders(event, signed, isForwarded),
      'idempotency-key': ctx.idempotencyKey('forward'),
      'hookonce-source': event.source,
      'hookonce-event-type': encodeURI(event.type),
    }
    await post({ url, headers, body: event.body, signal: ctx.signal, failure: 'FORWARD_FAILED' })
  }
}

function originalHeaders(
  event: Event,
  signed: Readonly<Record<string, string>>,
  isForwarded: (name: string) => boolean,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(event.headers)) {
    if (!isForwarded(name)) continue
    // If the sender uses a name of ours, its value is forwarded under another name.
    headers[Object.hasOwn(signed, name) && name !== 'content-type' ? `original-${name}` : name] = value
  }
  return headers
}
