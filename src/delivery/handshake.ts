import type { Observer } from '../observe/observer.ts'
import type { Delivery, HandshakeAnswer, Refusal } from '../sources/contract.ts'
import type { Answer } from './answer.ts'
import type { Refusals } from './refuse.ts'
import type { SourceRequest } from './request.ts'

interface HandshakeOptions {
  readonly observer: Pick<Observer, 'delivery'>
  readonly refuseUnverified: Refusals['refuseUnverified']
}

export type AnswerHandshake = (
  request: SourceRequest,
  delivery: Delivery,
  handshake: HandshakeAnswer | Refusal,
) => Promise<Answer>

/** Performs the action of a handshake, then answers it. A handshake records nothing. */
export function handshakeAnswers({ observer, refuseUnverified }: HandshakeOptions): AnswerHandshake {
  return async ({ head, source, startedAt }, delivery, handshake) => {
    if (!handshake.ok) return refuseUnverified(head, source, delivery, handshake)
    const refusal = await handshake.perform?.()
    if (refusal) return refuseUnverified(head, source, delivery, refusal)
    const { status, headers, body } = handshake
    const durationMs = performance.now() - startedAt
    observer.delivery({ source: source.name, outcome: 'handshake', status, durationMs })
    return { status, headers, body }
  }
}
