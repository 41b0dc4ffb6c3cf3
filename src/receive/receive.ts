import type { Answer } from '../delivery/answer.ts'
import type { Diagnoses } from '../delivery/diagnoses.ts'
import { frontHalf } from '../delivery/front-half.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { deliveryOf, type Head, stamped, type VerifiedRequest } from '../delivery/request.ts'
import { deadlines } from '../http/deadlines.ts'
import { HeldBytes } from '../http/held-bytes.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery } from '../sources/contract.ts'
import type { Acceptor } from './accept.ts'
import { acknowledgements } from './acknowledge.ts'
import { arrivals } from './arrival.ts'
import { batches } from './batches.ts'
import type { Limits } from './limits.ts'
import type { RejectionLog } from './rejections.ts'
import { type KnownSource, knownSource, type SubscribedSource } from './source.ts'

export interface ReceiverOptions {
  readonly sources: readonly SubscribedSource[]
  readonly shards: number
  readonly acceptor: Acceptor
  readonly rejections: RejectionLog
  readonly diagnoses: Diagnoses
  readonly limits: Limits
  readonly observer: Observer
}

/**
 * The receiver over a ledger:
 *
 * admit → read the body → verify → identify → accept (group commit) → acknowledge
 *
 * Only recorded events are acknowledged. The front half, up to `identify`, is in delivery/.
 */
export function receiver(options: ReceiverOptions): Receiver {
  const { acceptor, observer, rejections, diagnoses } = options
  const { maxWaiting, maxHeldBytes, retryAfterSeconds } = options.limits
  const sources = new Map(options.sources.map((source) => [source.name, knownSource(source)]))
  const limits = { ...options.limits, deadlines: deadlines(options.limits.bodyTimeoutMs) }
  const ownLimits = new Map(
    options.sources.flatMap(({ name, guard }) =>
      guard?.maxBodyBytes === undefined ? [] : [[name, { ...limits, maxBodyBytes: guard.maxBodyBytes }]],
    ),
  )
  const held = new HeldBytes(maxHeldBytes)
  const front = frontHalf({ sources, log: rejections, diagnoses, limits, held, retryAfterSeconds, observer })
  const { refuse } = front
  const arrivalOf = arrivals(options.shards)
  const recordBatch = batches({ held, refuse, record })
  const { acknowledge, ignore } = acknowledgements(observer)

  function admit(head: Head): Answer | undefined {
    return front.admit(head) ?? refuseIfQueueIsFull(head)
  }

  async function receive(received: Head, body: Uint8Array): Promise<Answer> {
    const startedAt = performance.now()
    const source = sources.get(received.sourceName)
    if (!source) return refuse(received, 'SOURCE_UNKNOWN', 'no such source')
    const { stampHeader, split } = source.source
    const head = stampHeader === undefined ? received : stamped(received, stampHeader)
    const delivery = deliveryOf(head, body)

    const checked = front.verify({ head, source, startedAt }, delivery)
    const request = 'then' in checked ? await checked : checked
    if (!('secret' in request)) return request
    // Checked again, because many requests are admitted while their bodies are still arriving.
    // Checked once per delivery, not per event: a batch longer than the queue could never pass.
    const refusal = refuseIfQueueIsFull(head) ?? refuseIfTooFast(source, head)
    if (refusal) return refusal
    return split ? recordBatch(request, delivery) : record(request, delivery)
  }

  /** Records one verified event, and acknowledges it when it is committed. */
  async function record(request: VerifiedRequest<KnownSource>, delivery: Delivery): Promise<Answer> {
    const { head, source, startedAt } = request
    const event = front.identify(request, delivery)
    if (!('ok' in event)) return event

    const candidates = source.subscribersOf(event.type)
    const { unread } = event
    // hookonce cannot know whether an unparseable delivery is unwanted, so it is recorded.
    if (unread) rejections.add(source.name, unread.code, `recorded all the same: ${unread.detail}`)
    const mayIgnore = unread === undefined && source.source.unwanted === 'ignore'
    if (mayIgnore && candidates.length === 0) return ignore(source, event, startedAt)

    const arrival = arrivalOf(request, { delivery, event, candidates })
    if (mayIgnore && arrival.subscribers.length === 0) return ignore(source, event, startedAt)
    try {
      return acknowledge({ source, arrival, unread }, await acceptor.accept(arrival), startedAt)
    } catch (error) {
      // LEDGER_DOWN means a refusal without an attempt. It counts as a refusal, and there is no
      // error to report.
      const isRefused = error instanceof HookonceError && error.code === 'LEDGER_DOWN'
      if (!isRefused) observer.trouble({ doing: 'recording deliveries', error })
      return refuse(head, 'LEDGER_DOWN', String(error))
    }
  }

  function refuseIfQueueIsFull(head: Head): Answer | undefined {
    if (acceptor.waiting < maxWaiting) return undefined
    return refuse(head, 'OVERLOADED', `${acceptor.waiting} deliveries wait`)
  }

  function refuseIfTooFast({ guard }: KnownSource, head: Head): Answer | undefined {
    const refusal = guard?.count()
    return refusal && refuse(head, refusal.code, refusal.detail, refusal)
  }

  return {
    admit,
    receive,
    refuse,
    limitsOf: ({ sourceName }) => ownLimits.get(sourceName) ?? limits,
    held,
  }
}
