import { randomUUID } from 'node:crypto'
import type { ErrorCode } from '../model/errors.ts'
import { receiptIds, shardOf } from '../model/receipt-id.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, HandshakeAnswer, Identified, Refusal, Source } from '../sources/contract.ts'
import { eventOf, type Recorded } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { Acceptance, Acceptor, Arrival } from './accept.ts'
import { type Answer, knownAlready, notWanted, recorded, recordedBatch, refusedWith } from './answer.ts'
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
    if (head.method !== 'POST' && !isOfHandshake(head))
      return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)
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

  async function receive(seen: Head, body: Uint8Array): Promise<Answer> {
    const startedAt = performance.now()
    const source = known.get(seen.sourceName)
    if (!source) return refuse(seen, 'SOURCE_UNKNOWN', 'no such source')
    const { stampHeader } = source.source
    const head = stampHeader === undefined ? seen : stamped(seen, stampHeader)
    const delivery = {
      method: head.method,
      url: head.url,
      header: head.header,
      body,
      receivedAtMs: Date.now(),
    }

    // Asked first: an await of nothing would cost every delivery a turn.
    const preparing = source.source.prepare?.(delivery)
    const unprepared = preparing && (await preparing)
    if (unprepared) return refuseSigned(head, source, unprepared)
    const handshake = source.source.handshake?.(delivery)
    if (handshake) return answerHandshake({ head, source, startedAt }, handshake)
    if (head.method !== 'POST') return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)

    const verified = source.source.verify(delivery)
    if (!verified.ok) return refuseSigned(head, source, verified)
    const request = { head, source, secret: verified.secret, startedAt }
    return source.source.split ? receiveBatch(request, delivery) : receiveEvent(request, delivery)
  }

  /** One verified delivery of one event. */
  async function receiveEvent(request: Request<Known>, delivery: Delivery): Promise<Answer> {
    const { head, source, secret, startedAt } = request
    const event = source.source.identify(delivery)
    if (!event.ok) return refuse(head, event.code, event.detail)

    const subscribers = source.wanting(event.type)
    if (subscribers.length === 0 && source.source.unwanted === 'ignore')
      return ignore(source, event, startedAt)

    // Looked at again: many are admitted while their bodies are still on the way.
    if (isQueueFull()) return refuseQueued(head)
    const arrival = arrivalOf({ head, source, delivery, event, secret, subscribers })
    try {
      return acknowledge(source, arrival, await acceptor.accept(arrival), startedAt)
    } catch (error) {
      observer.trouble({ doing: 'recording deliveries', error })
      return refuse(head, 'LEDGER_DOWN', String(error))
    }
  }

  /** One verified delivery of many events: acknowledged when all of them are recorded, and not before. */
  async function receiveBatch(request: Request<Known>, delivery: Delivery): Promise<Answer> {
    const { head, source } = request
    const events = source.source.split?.(delivery) ?? []
    if ('ok' in events) return refuse(head, events.code, events.detail)
    const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0)
    if (held.bytes + bytes > limits.maxHeldBytes)
      return refuse(head, 'OVERLOADED', `${held.bytes} bytes are held`)
    held.bytes += bytes
    try {
      return answerToAll(
        source.source,
        await Promise.all(events.map((event) => receiveEvent(request, event))),
      )
    } finally {
      held.bytes -= bytes
    }
  }

  async function answerHandshake(
    { head, source, startedAt }: Omit<Request<Known>, 'secret'>,
    handshake: HandshakeAnswer | Refusal,
  ): Promise<Answer> {
    const refusal = handshake.ok ? await handshake.perform?.() : handshake
    if (refusal) return refuseSigned(head, source, refusal)
    if (!handshake.ok) return refuseSigned(head, source, handshake)
    const { status, headers, body } = handshake
    const durationMs = performance.now() - startedAt
    observer.delivery({ source: source.name, outcome: 'handshake', status, durationMs })
    return { status, headers, body }
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
    const answer = notWanted(source.source)
    observer.delivery({
      source: source.name,
      outcome: 'unwanted',
      status: answer.status,
      eventKey: event.key,
      eventType: event.type,
      durationMs: performance.now() - startedAt,
    })
    return answer
  }

  function isOfHandshake({ sourceName, method }: Head): boolean {
    return known.get(sourceName)?.source.handshakeMethods?.includes(method) === true
  }

  function isQueueFull(): boolean {
    return acceptor.waiting >= limits.maxWaiting
  }

  function refuseQueued(head: Head): Answer {
    return refuse(head, 'OVERLOADED', `${acceptor.waiting} deliveries wait`)
  }

  function refuseSigned(head: Head, source: Known, refusal: Refusal): Answer {
    const isOurs = refusal.code === 'KEYS_UNAVAILABLE'
    return refuse(head, refusal.code, refusal.detail, isOurs ? undefined : source.source.refusedStatus)
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

/** The request with an id of ours: whatever the sender put under that name is gone. */
function stamped(head: Head, name: string): Head {
  const stamp = randomUUID()
  const pairs: string[] = []
  for (let at = 0; at + 1 < head.headerPairs.length; at += 2) {
    const [header = '', value = ''] = head.headerPairs.slice(at, at + 2)
    if (header.toLowerCase() !== name) pairs.push(header, value)
  }
  return {
    ...head,
    header: (header) => (header === name ? stamp : head.header(header)),
    headerPairs: [...pairs, name, stamp],
  }
}

function recordedOf(receipt: Arrival['receipt'], receivedAtMs: number): Recorded {
  const { id: receiptId, tenant, source, headers, body } = receipt
  return { receiptId, tenant, source, receivedAt: new Date(receivedAtMs), headers, body }
}

/** What is known of a delivery once its signature is. */
interface Request<Known> {
  readonly head: Head
  readonly source: Known
  readonly secret: number
  readonly startedAt: number
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
  if (code === 'OVERLOADED' || code === 'LEDGER_DOWN' || code === 'KEYS_UNAVAILABLE')
    return { 'retry-after': String(limits.retryAfterSeconds) }
  return {}
}

function answerTo(source: Source, receiptId: string, acceptance: Acceptance): Answer {
  if (acceptance === 'mismatch' && source.mismatch === 'reject') return refusedWith('BODY_MISMATCH')
  return acceptance === 'recorded' ? recorded(source, receiptId) : knownAlready(source, receiptId)
}

/** The first refusal, if there is one: the sender must come again, and what is recorded already is known then. */
function answerToAll(source: Source, answers: readonly Answer[]): Answer {
  const refusal = answers.find(({ status }) => status >= 500) ?? answers.find(({ status }) => status >= 400)
  if (refusal) return refusal
  const [only, ...others] = answers
  return only && others.length === 0 ? only : recordedBatch(source, answers.length)
}

/** For a receiver that cannot even be built yet, because the ledger is out of reach. */
export function unavailable(retryAfterSeconds: number): Answer {
  return refusedWith('LEDGER_DOWN', { headers: { 'retry-after': String(retryAfterSeconds) } })
}
