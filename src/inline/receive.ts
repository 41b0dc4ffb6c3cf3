import { type Answer, notWanted, processed } from '../delivery/answer.ts'
import { frontHalf, isAnswer } from '../delivery/front-half.ts'
import { RETRY_AFTER_SECONDS } from '../delivery/limits.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { deliveryOf, type Head, type VerifiedRequest, withoutHeader } from '../delivery/request.ts'
import { deadlines } from '../http/deadlines.ts'
import { HeldBytes } from '../http/held-bytes.ts'
import { keep } from '../keys/http/keep.ts'
import type { Reply } from '../keys/http/message.ts'
import { digest } from '../keys/identity.ts'
import { type Outcome, type RunContext, run } from '../keys/run.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { receiptIds } from '../model/receipt-id.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { Delivery, Identified, Refusal, Source } from '../sources/contract.ts'
import { eventOf } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import { type InlineAnswer, inlineAnswers, replyOf } from './answer.ts'
import type { CheckedInlineOptions } from './options.ts'
import { type InlineReports, warnOf } from './reports.ts'

export interface InlineReceiverOptions extends CheckedInlineOptions {
  readonly source: Source
  readonly reports: InlineReports
  readonly handle: (event: Event, context: RunContext) => Promise<Reply | undefined>
}

/**
 * A receiver that handles each event inside its request:
 *
 * admit → read the body → verify → identify → claim the key → handler → keep the reply → answer
 *
 * The front half, up to `identify`, is the one of the receiver over a ledger (delivery/). The claim
 * is a key in a key store; keys/run.ts holds the rules between the claim and the reply.
 */
export function inlineReceiver(options: InlineReceiverOptions): Receiver<Reply> {
  const { source, name, reports, store, handle, observe = warnOf } = options
  const { observer } = reports
  const named = { name, source }
  const limits = { ...options, deadlines: deadlines(options.bodyTimeoutMs) }
  const held = new HeldBytes(options.maxHeldBytes)
  const front = frontHalf({
    ...reports,
    sources: new Map([[name, named]]),
    limits,
    held,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
  const matchers = options.types.map(typeMatcher)
  const answers = inlineAnswers(source, options.inProgress)
  const receiptId = receiptIds(source.tenant, name)
  // A replay must have the headers that the provider requires, too.
  const storeHeaders = Object.keys(source.acceptedHeaders ?? {}).map((header) => header.toLowerCase())

  async function receive(received: Head, body: Uint8Array): Promise<Reply> {
    const startedAt = performance.now()
    const { stampHeader } = source
    // Only a receiver over a ledger stamps deliveries. A stamp from outside would make a repeated
    // delivery look new.
    const head = stampHeader === undefined ? received : withoutHeader(received, stampHeader)
    const whole = deliveryOf(head, body)

    const request = await front.verify({ head, source: named, startedAt }, whole)
    if (isAnswer(request)) return replyOf(request)
    const delivery = onlyEvent(whole)
    if ('ok' in delivery) return refuse(head, delivery)
    const event = front.identify(request, delivery)
    if (isAnswer(event)) return replyOf(event)
    if (!matchers.some((matches) => matches(event.type))) return replyOf(decline(request, event))

    const { reply, outcome, code } = await handleOnce(request, delivery, event)
    report(request, event, { outcome, status: reply.status, ...event.unread, ...(code && { code }) })
    return reply
  }

  function refuse(head: Head, { code, detail }: Refusal): Reply {
    return replyOf(front.refuse(head, code, detail))
  }

  /** One reply answers one event, so a provider that batches at times must not do so here. */
  function onlyEvent(delivery: Delivery): Delivery | Refusal {
    const events = source.split?.(delivery) ?? [delivery]
    if ('ok' in events) return events
    const [only, ...others] = events
    if (only !== undefined && others.length === 0) return only
    const detail = `${events.length} events in one request, and one reply: receive them with hookonce()`
    return { ok: false, code: 'BATCH_TOO_LARGE', detail }
  }

  /** Answers an event whose type is not among `types`. */
  function decline(request: VerifiedRequest, event: Identified): Answer {
    const { unread } = event
    // There is no ledger to record it in: acknowledged, it would be lost.
    if (unread) return front.refuse(request.head, unread.code, unread.detail)
    const answer = notWanted(source)
    report(request, event, { outcome: 'unwanted', status: answer.status })
    return answer
  }

  function report(
    { startedAt }: VerifiedRequest,
    { key: eventKey, type: eventType }: Identified,
    fact: Pick<Parameters<typeof observer.delivery>[0], 'outcome' | 'status' | 'code' | 'detail'>,
  ): void {
    const durationMs = performance.now() - startedAt
    observer.delivery({ source: name, eventKey, eventType, durationMs, ...fact })
  }

  async function handleOnce(
    { head }: VerifiedRequest,
    delivery: Delivery,
    identified: Identified,
  ): Promise<InlineAnswer> {
    const id = digest(['inline', source.tenant, name, identified.key])
    const event = eventOf(identified, {
      receiptId: receiptId(identified.key),
      tenant: source.tenant,
      source: name,
      receivedAt: new Date(delivery.receivedAtMs),
      headers: headerLines(head.headerPairs, source),
      body: delivery.body,
    })
    let hasBegun = false
    async function handleAndKeep(context: RunContext) {
      hasBegun = true
      const reply = (await handle(event, context)) ?? replyOf(processed(source))
      const about = { id, requestId: event.receiptId, observe }
      return keep(reply, { ...options, storeHeaders, store5xx: 'off' }, about)
    }
    try {
      const outcome: Outcome<Reply> = await run<Reply>({
        store,
        id,
        // A provider may word an event differently in each delivery: the key makes it the same.
        fingerprint: source.mismatch === 'reject' ? `inline-1:${digest([delivery.body])}` : 'inline-1',
        label: `${name} ${identified.key}`.slice(0, 200),
        policy: options,
        observe,
        run: handleAndKeep,
      })
      return await answers.answerTo(outcome)
    } catch (error) {
      // `observe` has the error. It may hold secrets, so it is not sent.
      if (hasBegun) return answers.failed()
      if (!(error instanceof HookonceError) || error.code !== 'KEY_STORE_DOWN') throw error
      observe({ what: 'store_down', ran: false, error })
      return answers.storeDown()
    }
  }

  return {
    admit(head) {
      const refusal = front.admit(head)
      return refusal && replyOf(refusal)
    },
    receive,
    refuse: (head, code, detail) => refuse(head, { ok: false, code, detail }),
    limits,
    held,
  }
}
