import type { BodyLimits } from '../http/bounded-body.ts'
import type { HeldBytes } from '../http/held-bytes.ts'
import type { Delivery, Identified } from '../sources/contract.ts'
import { admission } from './admit.ts'
import type { Answer } from './answer.ts'
import type { GuardedSource } from './guard.ts'
import { handshakeAnswers } from './handshake.ts'
import { type RefusalOptions, type Refuse, refusals } from './refuse.ts'
import type { Head, SourceRequest } from './request.ts'
import { type Verify, verification } from './verify.ts'

/**
 * What every delivery passes before its event is recorded or handled, in this order:
 *
 * admit → read the body (node.ts, fetch.ts) → prepare → handshake → verify → identify
 *
 * Each step may reject the delivery. Afterwards, receive/ records the event in the ledger, or inline/
 * handles it inside the request.
 */
export interface FrontHalf {
  admit(head: Head): Answer | undefined
  readonly verify: Verify
  /**
   * The event (it has `ok`) of a verified delivery, or a refusal if the delivery cannot be parsed.
   */
  identify(request: SourceRequest, delivery: Delivery): Identified | Answer
  readonly refuse: Refuse
}

export interface FrontHalfOptions extends RefusalOptions {
  readonly sources: ReadonlyMap<string, GuardedSource>
  readonly limits: BodyLimits
  readonly held: HeldBytes
}

export function frontHalf(options: FrontHalfOptions): FrontHalf {
  const { refuse, refuseUnverified, shadow } = refusals(options)
  const admit = admission({ ...options, refuse })
  const answerHandshake = handshakeAnswers({ observer: options.observer, refuseUnverified })
  const verify = verification({ refuse, refuseUnverified, shadow, answerHandshake })

  function identify({ head, source }: SourceRequest, delivery: Delivery): Identified | Answer {
    const event = source.source.identify(delivery)
    return event.ok ? event : refuse(head, event.code, event.detail)
  }

  return { admit, verify, identify, refuse }
}
