import type { ErrorCode } from '../model/errors.ts'
import { receiptIds, shardOf } from '../model/receipt-id.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, Identified, Refusal, Source } from '../sources/contract.ts'
import { eventOf, type Recorded } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { Acceptance, Acceptor, Arrival } from './accept.ts'
import { type Answer, knownAlready, notWanted, recorded, refusedWith } from './answer.ts'
import { type Deadlines, deadlines } from './deadlines.ts'
import type { Limits } from './limits.ts'
import type { RejectionLog } from './rejections.ts'
import { wantingOf } from './wanting.ts'

/** A source as the receiver knows it: its name in the URL, and who wants its events. */
export interface ReceivingSource {
  readonly name: string
  readonly source: Source
  readonly keySeconds: number
  readonly subscribers: readonly { readonly id: number; matches(type: string): boolean }[]
}

/** The request before its body. */
export interface Head {
  readonly sourceName: string
  readonly method: string
  readonly url: string
  /** By lower-case name. */
  header(name: string): string | undefined
  /** Names and values in turn, as they came. */
  readonly headerPairs: readonly string[]
}

export interface Receiver {
  /** What can be refused before the body is read. */
  admit(head: Head): Answer | undefined
  receive(head: Head, body: Uint8Array): Promise<Answer>
  /** A request whose body did not come. */
  refuse(head: Head, code: ErrorCode, detail: string): Answer
  /** The bytes that are held now: bodies being read and receipts waiting. */
  readonly held: HeldBytes
  /** By when a body must have come. */
  readonly deadlines: Deadlines
  readonly limits: Limits
}

export interface HeldBytes {
  bytes: number
}

export interface ReceiverOptions {
  readonly sources: readonly ReceivingSource[]
  readonly shards: number
  readonly acceptor: Acceptor
  readonly rejections: RejectionLog
  readonly limits: Limits
  readonly observer: Observer
}

/** delivery → verify → identify → accept → acknowledge. Nothing is acknowledged that is not recorded. */
export function receiver({
  sources,
  shards,
  acceptor,
  rejections,
  limits,
  observer,
}: ReceiverOptions): Receiver {
  const known = new Map(
    sources.map((source) => [
      source.name,
      { ...source, receiptId: receiptIds(source.source.tenant, source.name), wanting: wantingOf(source) },
    ]),
  )
  const held: HeldBytes = { bytes: 0 }
  type Known = NonNullable<ReturnType<typeof known.get>>

  function admit(head: Head): Answer | undefined {
    if (!known.has(head.sourceName))
      return refuse(head, 'SOURCE_UNKNOWN', `no source is named "${head.sourceName.slice(0, 64)}"`)
    if (head.method !== 'POST') return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)
    const encoding = head.header('content-encoding')
    if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
      return refuse(head, 'CONTENT_ENCODING_UNSUPPORTED', `the content-encoding is ${encoding.slice(0, 64)}`)
    }
    const length = Number(head.header('content-length') ?? 0)
    if (length > limits.maxBodyBytes) return refuse(head, 'BODY_TOO_LARGE', `${length} bytes are announced`)
    if (isQueueFull()) return refuseQueued(head)
    if (held.bytes + length > limits.maxHeldBytes)
      return refuse(head, 'OVERLOADED', `${held.bytes} bytes are held`)
    return undefined
  }

  async function receive(head: Head, body: Uint8Array): Promise<Answer> {
    const startedAt = performance.now()
    const source = known.get(head.sourceName)
    if (!source) return refuse(head, 'SOURCE_UNKNOWN', 'no such source')
    const delivery = {
      method: head.method,
      url: head.url,
      header: head.header,
      body,
      receivedAtMs: Date.now(),
    }

    const verified = source.source.verify(delivery)
    if (!verified.ok) return refuseSigned(head, source, verified)
    const event = source.source.identify(delivery)
    if (!event.ok) return refuse(head, event.code, event.detail)

    const subscribers = source.wanting(event.type)
    if (subscribers.length === 0 && source.source.unwanted === 'ignore')
      return ignore(source, event, startedAt)

    // Looked at again: many are admitted while their bodies are still on the way.
    if (isQueueFull()) return refuseQueued(head)
    const arrival = arrivalOf({ head, source, delivery, event, secret: verified.secret, subscribers })
    try {
      return acknowledge(source, arrival, await acceptor.accept(arrival), startedAt)
    } catch (error) {
      observer.trouble({ doing: 'recording deliveries', error })
      return refuse(head, 'LEDGER_DOWN', String(error))
    }
  }

  function arrivalOf(given: Given<Known>): Arrival {
    const { head, source, delivery, event, secret, subscribers } = given
    const id = source.receiptId(event.key)
    const headers = headerLines(head.headerPairs)
    const receipt = {
      id,
      shard: shardOf(id, shards),
      tenant: source.source.tenant,
      source: source.name,
      eventKey: event.key,
      eventType: event.type,
      objectId: event.objectId,
      occurredAtMs: event.occurredAtMs,
      secret,
      headers,
      body: delivery.body,
      keySeconds: source.keySeconds,
    }
    return {
      receipt,
      subscribers,
      event: () => eventOf(event, recordedOf(receipt, delivery.receivedAtMs)),
    }
  }

  function acknowledge(
    source: Known,
    { receipt }: Arrival,
    acceptance: Acceptance,
    startedAt: number,
  ): Answer {
    const answer = answerTo(source.source, receipt.id, acceptance)
    observer.delivery({
      source: source.name,
      outcome: acceptance,
      status: answer.status,
      receiptId: receipt.id,
      eventKey: receipt.eventKey,
      eventType: receipt.eventType,
      objectId: receipt.objectId,
      durationMs: performance.now() - startedAt,
    })
    return answer
  }

  function ignore(source: Known, event: Identified, startedAt: number): Answer {
    observer.delivery({
      source: source.name,
      outcome: 'unwanted',
      status: notWanted.status,
      eventKey: event.key,
      eventType: event.type,
      durationMs: performance.now() - startedAt,
    })
    return notWanted
  }

  function isQueueFull(): boolean {
    return acceptor.waiting >= limits.maxWaiting
  }

  function refuseQueued(head: Head): Answer {
    return refuse(head, 'OVERLOADED', `${acceptor.waiting} deliveries wait`)
  }

  function refuseSigned(head: Head, source: Known, refusal: Refusal): Answer {
    return refuse(head, refusal.code, refusal.detail, source.source.refusedStatus)
  }

  function refuse(head: Head, code: ErrorCode, detail: string, status?: number): Answer {
    // Names that nobody configured share one row: they come from outside.
    const source = known.has(head.sourceName) ? head.sourceName : '(unknown)'
    const answer = refusedWith(code, {
      ...(status === undefined ? {} : { status }),
      headers: headersOf(code, limits),
      close: UNREAD.has(code),
    })
    rejections.add(source, code, detail)
    observer.delivery({ source, outcome: 'rejected', status: answer.status, code, detail, durationMs: 0 })
    return answer
  }

  return { admit, receive, refuse, held, deadlines: deadlines(limits.bodyTimeoutMs), limits }
}

function recordedOf(receipt: Arrival['receipt'], receivedAtMs: number): Recorded {
  const { id: receiptId, tenant, source, headers, body } = receipt
  return { receiptId, tenant, source, receivedAt: new Date(receivedAtMs), headers, body }
}

interface Given<Known> {
  readonly head: Head
  readonly source: Known
  readonly delivery: Delivery
  readonly event: Identified
  readonly secret: number
  readonly subscribers: readonly number[]
}

/** Refusals that leave the rest of the request unread. */
const UNREAD: ReadonlySet<ErrorCode> = new Set([
  'SOURCE_UNKNOWN',
  'METHOD_NOT_ALLOWED',
  'CONTENT_ENCODING_UNSUPPORTED',
  'BODY_TOO_LARGE',
  'BODY_STALLED',
  'BODY_INCOMPLETE',
])

function headersOf(code: ErrorCode, limits: Limits): Record<string, string> {
  if (code === 'METHOD_NOT_ALLOWED') return { allow: 'POST' }
  if (code === 'OVERLOADED' || code === 'LEDGER_DOWN')
    return { 'retry-after': String(limits.retryAfterSeconds) }
  return {}
}

function answerTo(source: Source, receiptId: string, acceptance: Acceptance): Answer {
  if (acceptance === 'recorded') return recorded(source.acceptedStatus, receiptId)
  if (acceptance === 'mismatch' && source.mismatch === 'reject') return refusedWith('BODY_MISMATCH')
  return knownAlready(receiptId)
}

/** For a receiver that cannot even be built yet, because the ledger is out of reach. */
export function unavailable(retryAfterSeconds: number): Answer {
  return refusedWith('LEDGER_DOWN', { headers: { 'retry-after': String(retryAfterSeconds) } })
}
