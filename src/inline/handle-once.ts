import { processed } from '../delivery/answer.ts'
import type { Head } from '../delivery/request.ts'
import { harmless, type KeyEvent } from '../keys/events.ts'
import { keep } from '../keys/http/keep.ts'
import type { Reply } from '../keys/http/message.ts'
import { digest } from '../keys/identity.ts'
import { type RunContext, run } from '../keys/run.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { receiptIds } from '../model/receipt-id.ts'
import { limitedWarning } from '../observe/limited-warning.ts'
import type { Delivery, Identified, Source } from '../sources/contract.ts'
import { eventOf } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import { failed, type InlineAnswer, outcomeAnswers, replyOf, storeDown } from './answer.ts'
import type { CheckedInlineOptions } from './options.ts'

export interface HandlerOptions extends CheckedInlineOptions {
  readonly source: Source
  /** Undefined: the handler returned no reply of its own. */
  readonly handle: (event: Event, context: RunContext) => Promise<Reply | undefined>
}

/** An event that was read from a verified delivery. */
export interface IdentifiedDelivery {
  readonly head: Head
  readonly delivery: Delivery
  readonly identified: Identified
}

/**
 * claim the key → handler → keep the reply → answer. The claim is a key in a key store; keys/run.ts
 * holds the rules between the claim and the reply.
 */
export function onceHandler(
  options: HandlerOptions,
): (delivery: IdentifiedDelivery) => Promise<InlineAnswer> {
  const { source, name, store, handle } = options
  const observe = harmless(options.observe ?? warn)
  const receiptId = receiptIds(source.tenant, name)
  const answerTo = outcomeAnswers(source, options.inProgress)
  // A replayed reply must also have the headers that the provider requires.
  const storeHeaders = Object.keys(source.acceptedHeaders ?? {}).map((header) => header.toLowerCase())
  const kept = { ...options, storeHeaders, store5xx: 'off' as const }

  function eventFrom({ head, delivery, identified }: IdentifiedDelivery): Event {
    return eventOf(identified, {
      receiptId: receiptId(identified.key),
      tenant: source.tenant,
      source: name,
      receivedAt: new Date(delivery.receivedAtMs),
      headers: headerLines(head.headerPairs, source),
      body: delivery.body,
    })
  }

  return async (identifiedDelivery) => {
    const { delivery, identified } = identifiedDelivery
    const event = eventFrom(identifiedDelivery)
    const id = digest(['inline', source.tenant, name, identified.key])
    let hasBegun = false
    try {
      const outcome = await run<Reply>({
        store,
        id,
        // A provider may serialise an event differently in each delivery, so only the key
        // identifies it.
        fingerprint: source.mismatch === 'reject' ? `inline-1:${digest([delivery.body])}` : 'inline-1',
        label: `${name} ${identified.key}`.slice(0, 200),
        policy: options,
        observe,
        async run(context) {
          hasBegun = true
          const reply = (await handle(event, context)) ?? replyOf(processed(source))
          return keep(reply, kept, { id, requestId: event.receiptId, observe })
        },
      })
      return await answerTo(outcome)
    } catch (error) {
      // `observe` gets the error. The error may hold secrets, so it is not sent.
      if (hasBegun) return failed()
      if (!(error instanceof HookonceError) || error.code !== 'KEY_STORE_DOWN') throw error
      observe({ what: 'store_down', ran: false, error })
      return storeDown()
    }
  }
}

/** The default of `observe`. Without an observer, a failure must still be visible. */
function warn(event: KeyEvent): void {
  if ('error' in event)
    limitedWarning(`inline ${event.what}`, `hookonce: ${event.what}: ${String(event.error)}`)
}
