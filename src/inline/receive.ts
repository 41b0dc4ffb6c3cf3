import { deadlines } from '../http/deadlines.ts'
import { type HeldBytes, heldBytes } from '../keys/http/held-bytes.ts'
import { keep, restore } from '../keys/http/keep.ts'
import { retryAfter } from '../keys/http/keyed.ts'
import { type Reply, withHeaders } from '../keys/http/message.ts'
import type { BodyLimits } from '../keys/http/read-body.ts'
import { digest } from '../keys/identity.ts'
import { type Outcome, type RunContext, run } from '../keys/run.ts'
import { SECOND_MS } from '../model/durations.ts'
import { type ErrorCode, type ErrorEntry, errorCatalogue, HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { receiptIds } from '../model/receipt-id.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import { limitedWarning } from '../observe/limited-warning.ts'
import type { Delivery, HandshakeAnswer, Identified, Refusal, Source } from '../sources/contract.ts'
import { eventOf } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { CheckedInlineOptions } from './options.ts'

/*
 * A webhook whose handler runs inside its request: verify → identify → claim → handler → keep the
 * reply → answer. The claim is a key in a key store, so that no ledger is needed; what must hold
 * between it and the reply is in keys/run.ts.
 */

/** The request before its body. */
export interface Head {
  readonly method: string
  readonly url: string
  /** By lower-case name. */
  header(name: string): string | undefined
  /** Names and values in turn, as they came. */
  readonly headerPairs: readonly string[]
}

/** One delivery and its end, for whoever counts them. */
export interface InlineFact {
  readonly outcome: 'recorded' | 'duplicate' | 'mismatch' | 'unwanted' | 'handshake' | 'rejected'
  readonly status: number
  readonly code?: ErrorCode
  readonly detail?: string
  readonly eventKey?: string
  readonly eventType?: string
}

export interface InlineReceiver {
  readonly limits: BodyLimits
  readonly held: HeldBytes
  /** What can be refused before the body is read. */
  admit(head: Head): Reply | undefined
  receive(head: Head, body: Uint8Array): Promise<Reply>
  /** A request whose body did not come. */
  refuse(code: ErrorCode, detail: string): Reply
}

export interface InlineReceiverOptions extends CheckedInlineOptions {
  readonly source: Source
  readonly handle: (event: Event, context: RunContext) => Promise<Reply | undefined>
  readonly tell: (fact: InlineFact) => void
}

export function inlineReceiver(options: InlineReceiverOptions): InlineReceiver {
  const { source, name, tell, types, maxBodyBytes, bodyTimeoutMs } = options
  const receiptId = receiptIds(source.tenant, name)
  const matchers = types.map(typeMatcher)
  const limits = { maxBodyBytes, bodyTimeoutMs, deadlines: deadlines(bodyTimeoutMs) }
  const held = heldBytes(options.maxHeldBytes)

  function refuse(code: ErrorCode, detail: string, status?: number): Reply {
    const reply = refusal(code, status)
    tell({ outcome: 'rejected', status: reply.status, code, detail })
    return reply.status === 503 ? withHeaders(reply, retryAfter(Number.POSITIVE_INFINITY).headers) : reply
  }

  function admit(head: Head): Reply | undefined {
    if (head.method !== 'POST' && !source.handshakeMethods?.includes(head.method))
      return withHeaders(refuse('METHOD_NOT_ALLOWED', `the method is ${head.method}`), { allow: 'POST' })
    const encoding = head.header('content-encoding')?.toLowerCase()
    if (encoding !== undefined && encoding !== '' && encoding !== 'identity')
      return refuse('CONTENT_ENCODING_UNSUPPORTED', `the content-encoding is ${encoding.slice(0, 64)}`)
    const length = Number(head.header('content-length') ?? 0)
    if (length > maxBodyBytes) return refuse('BODY_TOO_LARGE', `${length} bytes are announced`)
    if (!held.hasRoomFor(length)) return refuse('OVERLOADED', `there is no room for ${length} bytes`)
    return undefined
  }

  async function receive(head: Head, body: Uint8Array): Promise<Reply> {
    const delivery = { ...head, body, receivedAtMs: Date.now() }
    const unprepared = await source.prepare?.(delivery)
    if (unprepared) return refuse(unprepared.code, unprepared.detail)
    const handshake = source.handshake?.(delivery)
    if (handshake) return answerHandshake(handshake)
    if (head.method !== 'POST')
      return withHeaders(refuse('METHOD_NOT_ALLOWED', `the method is ${head.method}`), { allow: 'POST' })
    const verified = source.verify(delivery)
    if (!verified.ok) return refuse(verified.code, verified.detail, source.refusedStatus)
    const event = onlyEvent(delivery)
    if ('ok' in event) return refuse(event.code, event.detail)
    const identified = source.identify(event)
    if (!identified.ok) return refuse(identified.code, identified.detail)
    const about = { eventKey: identified.key, eventType: identified.type }
    const { unread } = identified
    if (!matchers.some((matches) => matches(identified.type))) {
      // There is no ledger to keep it in. Acknowledged, it would be gone.
      if (unread) return refuse(unread.code, unread.detail)
      tell({ outcome: 'unwanted', status: 200, ...about })
      return said(200, 'ignored')
    }
    const { reply, ...end } = await answer(identified, event, headerLines(head.headerPairs, source))
    tell({ ...unread, ...end, status: reply.status, ...about })
    return reply
  }

  /** One reply answers one event: a provider that batches at times must not do so here. */
  function onlyEvent(delivery: Delivery): Delivery | Refusal {
    const events = source.split?.(delivery) ?? [delivery]
    if ('ok' in events) return events
    const [only, ...others] = events
    if (only !== undefined && others.length === 0) return only
    const detail = `${events.length} events in one request, and one reply: receive them with hookonce()`
    return { ok: false, code: 'BATCH_TOO_LARGE', detail }
  }

  /** It leaves nothing in the store. */
  async function answerHandshake(handshake: HandshakeAnswer | Refusal): Promise<Reply> {
    const refused = handshake.ok ? await handshake.perform?.() : handshake
    if (refused) return refuse(refused.code, refused.detail, source.refusedStatus)
    if (!handshake.ok) return refuse(handshake.code, handshake.detail, source.refusedStatus)
    const { status, headers, body } = handshake
    tell({ outcome: 'handshake', status })
    return { status, headers: Object.entries(headers), body: Buffer.from(body) }
  }

  async function answer(identified: Identified, delivery: Delivery, headers: string): Promise<Answered> {
    const { tenant } = source
    const { store, observe = warn, handle, inProgress: _, ...policy } = options
    const id = digest(['inline', tenant, name, identified.key])
    const event = eventOf(identified, {
      receiptId: receiptId(identified.key),
      tenant,
      source: name,
      receivedAt: new Date(delivery.receivedAtMs),
      headers,
      body: delivery.body,
    })
    let began = false
    try {
      const outcome = await run<Reply>({
        store,
        id,
        // Providers may word an event anew for each delivery; its key is what makes it the same
        // one.
        fingerprint: source.mismatch === 'reject' ? `inline-1:${digest([delivery.body])}` : 'inline-1',
        label: `${name} ${identified.key}`.slice(0, 200),
        policy,
        observe,
        async run(context) {
          began = true
          const reply = (await handle(event, context)) ?? said(200, 'processed')
          return keep(
            reply,
            { ...policy, storeHeaders: [], store5xx: 'off' },
            { id, requestId: event.receiptId, observe },
          )
        },
      })
      return await answerTo(outcome, options.inProgress)
    } catch (error) {
      // `observe` has been told. What a handler throws may hold secrets, so it is not sent.
      if (began) return rejected('HANDLER_FAILED')
      if (!(error instanceof HookonceError) || error.code !== 'KEY_STORE_DOWN') throw error
      observe({ what: 'store_down', ran: false, error })
      return rejected('KEY_STORE_DOWN', retryAfter(Number.POSITIVE_INFINITY).headers)
    }
  }

  return { admit, receive, refuse, limits, held }
}

type Answered = Pick<InlineFact, 'outcome' | 'code'> & { readonly reply: Reply }

async function answerTo(
  outcome: Outcome<Reply>,
  inProgress: CheckedInlineOptions['inProgress'],
): Promise<Answered> {
  switch (outcome.outcome) {
    case 'ran':
      return { outcome: 'recorded', reply: outcome.value }
    case 'completed': {
      const { reply = said(200, 'duplicate') } = await restore(outcome.record.result ?? new Uint8Array(), {})
      return { outcome: 'duplicate', reply: withHeaders(reply, { 'idempotent-replayed': 'true' }) }
    }
    case 'locked': {
      if (inProgress === 'accept') return { outcome: 'duplicate', reply: said(202, 'in progress') }
      const { headers } = retryAfter((outcome.record.lockUntil - outcome.now) / SECOND_MS)
      return rejected('KEY_IN_PROGRESS', headers)
    }
    case 'mismatch':
      return { ...rejected('BODY_MISMATCH'), outcome: 'mismatch' }
    case 'unknown':
      return rejected('OUTCOME_UNKNOWN')
    case 'lost':
      return rejected('LOCK_LOST', retryAfter(1).headers)
  }
}

function rejected(code: ErrorCode, headers: Record<string, string> = {}): Answered {
  return { outcome: 'rejected', code, reply: withHeaders(refusal(code), headers) }
}

function refusal(code: ErrorCode, status?: number): Reply {
  const entry: ErrorEntry = errorCatalogue[code]
  return json(status ?? entry.status ?? 500, { error: code })
}

function said(status: number, word: string): Reply {
  return json(status, { status: word })
}

function json(status: number, body: object): Reply {
  return {
    status,
    headers: [['content-type', 'application/json']],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** Where nobody listens, a failure must still be seen. */
function warn(event: { readonly what: string; readonly error?: unknown }): void {
  if ('error' in event)
    limitedWarning(`inline ${event.what}`, `hookonce: ${event.what}: ${String(event.error)}`)
}
