import type { Event } from '../model/event.ts'
import { contextHeaders, type TraceContext, traceContextIn } from '../observe/trace-context.ts'
import { standardWebhooks } from '../sources/catalogue/standard-webhooks.ts'
import type { CheckedDescription } from '../sources/description.ts'
import type { Auth, Destination } from './destination.ts'
import { forwardable } from './headers.ts'
import type { Draft } from './transform.ts'

/** The values that each attempt adds to the event. */
export interface AttemptFacts {
  readonly attempt: number
  readonly idempotencyKey: string
  /** The trace context of the attempt. Undefined: tracing is off. */
  readonly traceContext: TraceContext | undefined
}

export type RequestHeaders = (event: Event, draft: Draft, facts: AttemptFacts) => Record<string, string>

/** Makes the headers of a forwarded request. docs/reference/forwarding.md lists them. */
export function requestHeaders(
  { secret, headers: listed = [], auth }: Pick<Destination, 'secret' | 'headers' | 'auth'>,
  description: CheckedDescription,
): RequestHeaders {
  const sign = signerOf([secret].flat())
  const isForwarded = forwardable(description, listed)
  const authHeaders = auth ? authHeaderOf(auth) : {}
  return (event, { body, headers, contentType }, { attempt, idempotencyKey, traceContext }) => {
    const ours: Record<string, string> = {
      ...traceOf(event, traceContext),
      ...headers,
      ...authHeaders,
      ...sign(body, event.receiptId),
      'idempotency-key': idempotencyKey,
      'hookonce-attempt': String(attempt),
      'hookonce-tenant': headerText(event.tenant),
      'hookonce-source': event.source,
      'hookonce-event-key': headerText(event.key),
      'hookonce-event-type': headerText(event.type),
    }
    const originals = originalHeaders(event, ours, isForwarded)
    return {
      'user-agent': 'hookonce',
      ...originals,
      ...(contentType && { 'content-type': contentType }),
      ...ours,
    }
  }
}

/** Signs with every secret, so that a receiver that knows one of them accepts the request. */
function signerOf(secrets: readonly string[]): (body: Uint8Array, id: string) => Record<string, string> {
  const signers = secrets.map((secret) => standardWebhooks({ secret }))
  return (body, id) => {
    const timestampMs = Date.now()
    const signed = signers.map((signer) => signer.sign({ body, id, timestampMs }))
    const signatures = signed.map((headers) => headers['webhook-signature']).join(' ')
    const timestamp = signed[0]?.['webhook-timestamp'] ?? ''
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures }
  }
}

function authHeaderOf(auth: Auth): Record<string, string> {
  switch (auth.type) {
    case 'bearer':
      return { authorization: `Bearer ${auth.token}` }
    case 'basic': {
      const credentials = Buffer.from(`${auth.username}:${auth.password}`).toString('base64')
      return { authorization: `Basic ${credentials}` }
    }
    case 'header':
      return { [auth.name]: auth.value }
  }
}

/**
 * Without tracing here, the sender's trace context is passed on unchanged, as W3C Trace Context
 * demands.
 */
function traceOf({ headers }: Event, current: TraceContext | undefined): Record<string, string> {
  const context = current ?? traceContextIn(headers)
  return context ? contextHeaders(context) : {}
}

function originalHeaders(
  event: Event,
  ours: Readonly<Record<string, string>>,
  isForwarded: (name: string) => boolean,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(event.headers)) {
    if (!isForwarded(name)) continue
    // A header of the sender that has a reserved name is forwarded under another name.
    const isTaken = Object.hasOwn(ours, name) && name !== 'content-type'
    headers[isTaken ? `original-${name}` : name] = value
  }
  return headers
}

/** Percent-encodes characters that a header cannot hold; decodeURIComponent() reverts it. */
export function headerText(text: string): string {
  return encodeURI(text.replace(/\p{Surrogate}/gu, '\uFFFD'))
}
