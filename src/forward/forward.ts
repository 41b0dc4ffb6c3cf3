import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { RetryAfter } from '../model/handler-errors.ts'
import { retryAfterMs } from '../model/retry-after.ts'
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
/** Enough of a failing destination's answer to see what it says. */
const MAX_QUOTE_CHARS = 300

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
    const response = await post(url, { headers, body: event.body, signal: ctx.signal })
    if (response.ok) {
      await response.body?.cancel()
      return
    }
    throw await failureOf(url, response)
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

interface Outgoing {
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  readonly signal: AbortSignal
}

async function post(url: string, { headers, body, signal }: Outgoing): Promise<Response> {
  try {
    // A redirect is not a receipt: following it could hand the event to someone else.
    return await fetch(url, { method: 'POST', headers, body: Buffer.from(body), signal, redirect: 'manual' })
  } catch (error) {
    signal.throwIfAborted()
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new HookonceError('FORWARD_FAILED', `${url} could not be reached: ${cause}`, { cause: error })
  }
}

async function failureOf(url: string, response: Response): Promise<Error> {
  const quote = await quoteOf(response)
  const text = `${url} answered ${response.status}${quote === '' ? '' : `: ${quote}`}`
  const delayMs = retryAfterMs(response.headers.get('retry-after'))
  return delayMs === undefined ? new HookonceError('FORWARD_FAILED', text) : new RetryAfter(delayMs, text)
}

// Reads the first chunk only: the destination decides how much it answers, not how much we read.
async function quoteOf(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  try {
    const { value } = await reader.read()
    return Buffer.from(value ?? [])
      .toString('utf8')
      .slice(0, MAX_QUOTE_CHARS)
  } catch (error) {
    return `(its body could not be read: ${String(error)})`
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
