import { type Deadlines, deadlines } from '../http/deadlines.ts'
import { type ErrorCode, HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, Source } from '../sources/contract.ts'
import type { Acceptor } from './accept.ts'
import { acknowledging } from './acknowledge.ts'
import { admission } from './admit.ts'
import { type Answer, refusedWith } from './answer.ts'
import { arrivals, type KnownSource, knownSource, stamped } from './arrival.ts'
import { batches } from './batches.ts'
import type { Diagnoses } from './diagnoses.ts'
import { handshakeAnswers } from './handshakes.ts'
import type { Limits } from './limits.ts'
import { refusing } from './refuse.ts'
import type { RejectionLog } from './rejections.ts'

/** A source as the receiver knows it: its name in the URL, and who wants its events. */
export interface ReceivingSource {
  readonly name: string
  readonly source: Source
  readonly keySeconds: number
  readonly subscribers: readonly ReceivingSubscriber[]
}

export interface ReceivingSubscriber {
  readonly id: number
  matches(type: string): boolean
  /** The lane of an event, where this subscriber wants an order. */
  readonly laneOf?: ((event: Event) => string) | undefined
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
  readonly diagnoses: Diagnoses
  readonly limits: Limits
  readonly observer: Observer
}

/** What is known of a delivery once its signature is. */
export interface Request {
  readonly head: Head
  readonly source: KnownSource
  /** Which secret matched, by its position from 1. */
  readonly secret: number
  readonly startedAt: number
}

/**
 * delivery → verify → identify → accept → acknowledge. Nothing is acknowledged that is not
 * recorded.
 */
export function receiver(options: ReceiverOptions): Receiver {
  const { acceptor, limits, observer, rejections } = options
  const known = new Map(options.sources.map((source) => [source.name, knownSource(source)]))
  const held: HeldBytes = { bytes: 0 }
  const { refuse, refuseSigned, shadow } = refusing({ ...options, known })
  const { admit, isQueueFull, refuseQueued } = admission({ known, held, acceptor, limits, refuse })
  const answerHandshake = handshakeAnswers({ observer, refuseSigned })
  const { acknowledge, ignore } = acknowledging(observer)
  const arrivalOf = arrivals(options.shards)
  const receiveBatch = batches({ held, limits, refuse, receiveEvent: record })

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
    if (unprepared) return refuseSigned(head, source, delivery, unprepared)
    const handshake = source.source.handshake?.(delivery)
    if (handshake) return answerHandshake({ head, source, startedAt }, delivery, handshake)
    if (head.method !== 'POST') return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)

    const verified = source.source.verify(delivery)
    if (!verified.ok) {
      const isShadow = source.source.mode === 'shadow'
      return isShadow ? shadow(source, delivery, verified) : refuseSigned(head, source, delivery, verified)
    }
    // Looked at again: many are admitted while their bodies are still on the way. Once for a
    // delivery, and not for each of its events: of a batch that is longer than the queue, the same
    // ones would be refused however often it comes.
    if (isQueueFull()) return refuseQueued(head)
    const request = { head, source, secret: verified.secret, startedAt }
    return source.source.split ? receiveBatch(request, delivery) : record(request, delivery)
  }

  /** One verified event. */
  async function record(request: Request, delivery: Delivery): Promise<Answer> {
    const { head, source, startedAt } = request
    const event = source.source.identify(delivery)
    if (!event.ok) return refuse(head, event.code, event.detail)

    const subscribers = source.wanting(event.type)
    const { unread } = event
    // Of a delivery that was not understood nobody can say that it is not wanted.
    if (unread) rejections.add(source.name, unread.code, `recorded all the same: ${unread.detail}`)
    else if (subscribers.length === 0 && source.source.unwanted === 'ignore')
      return ignore(source, event, startedAt)

    const arrival = arrivalOf(request, { delivery, event, subscribers })
    try {
      return acknowledge({ source, arrival, unread }, await acceptor.accept(arrival), startedAt)
    } catch (error) {
      // One that was refused without an attempt is counted as a refusal, and has nothing to report.
      if (!(error instanceof HookonceError)) observer.trouble({ doing: 'recording deliveries', error })
      return refuse(head, 'LEDGER_DOWN', String(error))
    }
  }

  return { admit, receive, refuse, held, deadlines: deadlines(limits.bodyTimeoutMs), limits }
}

/** For a receiver that cannot even be built yet, because the ledger is out of reach. */
export function unavailable(retryAfterSeconds: number): Answer {
  return refusedWith('LEDGER_DOWN', { headers: { 'retry-after': String(retryAfterSeconds) } })
}
