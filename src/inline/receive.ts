import { type Answer, notWanted } from '../delivery/answer.ts'
import { frontHalf } from '../delivery/front-half.ts'
import { RETRY_AFTER_SECONDS } from '../delivery/limits.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { deliveryOf, type Head, type VerifiedRequest, withoutHeader } from '../delivery/request.ts'
import { deadlines } from '../http/deadlines.ts'
import { HeldBytes } from '../http/held-bytes.ts'
import type { Reply } from '../keys/http/message.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { DeliveryFact } from '../observe/observer.ts'
import type { Delivery, Identified, Refusal } from '../sources/contract.ts'
import { replyOf } from './answer.ts'
import { type HandlerOptions, onceHandler } from './handle-once.ts'
import type { InlineReports } from './reports.ts'

export interface InlineReceiverOptions extends HandlerOptions {
  readonly reports: InlineReports
}

/**
 * A receiver that handles each event inside its request:
 *
 * admit → read the body → verify → identify → handle once (claim → handler → keep) → answer
 *
 * The front half, up to `identify`, is that of the receiver over a ledger (delivery/).
 */
export function inlineReceiver(options: InlineReceiverOptions): Receiver<Reply> {
  const { source, name, reports } = options
  const named = { name, source }
  const limits = { ...options, deadlines: deadlines(options.bodyTimeoutMs) }
  const held = new HeldBytes(options.maxHeldBytes)
  const sources = new Map([[name, named]])
  const front = frontHalf({ ...reports, sources, limits, held, retryAfterSeconds: RETRY_AFTER_SECONDS })
  const matchers = options.types.map(typeMatcher)
  const handleOnce = onceHandler(options)

  async function receive(received: Head, body: Uint8Array): Promise<Reply> {
    const startedAt = performance.now()
    const { stampHeader } = source
    // Only a receiver over a ledger stamps deliveries. A stamp from the sender would make a
    // repeated delivery look new.
    const head = stampHeader === undefined ? received : withoutHeader(received, stampHeader)
    const whole = deliveryOf(head, body)

    const request = await front.verify({ head, source: named, startedAt }, whole)
    if (!('secret' in request)) return replyOf(request)
    const delivery = onlyEvent(whole)
    if ('ok' in delivery) return replyOf(front.refuse(head, delivery.code, delivery.detail))
    const identified = front.identify(request, delivery)
    if (!('ok' in identified)) return replyOf(identified)
    if (!matchers.some((matches) => matches(identified.type))) return replyOf(decline(request, identified))

    const { reply, outcome, code } = await handleOnce({ head, delivery, identified })
    const reason = code ? { code } : identified.unread
    report(request, identified, { outcome, status: reply.status, ...reason })
    return reply
  }

  /** One reply answers one event, so providers that may send batches are refused here. */
  function onlyEvent(delivery: Delivery): Delivery | Refusal {
    const events = source.split?.(delivery) ?? [delivery]
    if ('ok' in events) return events
    const [only, ...others] = events
    if (only !== undefined && others.length === 0) return only
    const detail = `${events.length} events in one request, and one reply: receive them with hookonce()`
    return { ok: false, code: 'BATCH_TOO_LARGE', detail }
  }

  /** Answers an event whose type is not among `types`. */
  function decline(request: VerifiedRequest, identified: Identified): Answer {
    const { unread } = identified
    // There is no ledger to record the event in. An acknowledged event would be lost.
    if (unread) return front.refuse(request.head, unread.code, unread.detail)
    const answer = notWanted(source)
    report(request, identified, { outcome: 'unwanted', status: answer.status })
    return answer
  }

  function report(
    { startedAt }: VerifiedRequest,
    { key: eventKey, type: eventType }: Identified,
    fact: Pick<DeliveryFact, 'outcome' | 'status' | 'code' | 'detail'>,
  ): void {
    const durationMs = performance.now() - startedAt
    reports.observer.delivery({ source: name, eventKey, eventType, durationMs, ...fact })
  }

  return {
    admit(head) {
      const refusal = front.admit(head)
      return refusal && replyOf(refusal)
    },
    receive,
    refuse: (head, code, detail) => replyOf(front.refuse(head, code, detail)),
    limitsOf: () => limits,
    held,
  }
}
