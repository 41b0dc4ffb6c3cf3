import type { Observer } from '../observe/observer.ts'
import type { Delivery, HandshakeAnswer, Refusal } from '../sources/contract.ts'
import type { Answer } from './answer.ts'
import type { Request } from './receive.ts'
import type { Refusing } from './refuse.ts'

interface HandshakeOptions {
  readonly observer: Observer
  readonly refuseSigned: Refusing['refuseSigned']
}

/** Answers a handshake once what it asks for is done. It leaves nothing in the ledger. */
export function handshakeAnswers({
  observer,
  refuseSigned,
}: HandshakeOptions): (
  request: Omit<Request, 'secret'>,
  delivery: Delivery,
  handshake: HandshakeAnswer | Refusal,
) => Promise<Answer> {
  return async ({ head, source, startedAt }, delivery, handshake) => {
    if (!handshake.ok) return refuseSigned(head, source, delivery, handshake)
    const refusal = await handshake.perform?.()
    if (refusal) return refuseSigned(head, source, delivery, refusal)
    const { status, headers, body } = handshake
    const durationMs = performance.now() - startedAt
    observer.delivery({ source: source.name, outcome: 'handshake', status, durationMs })
    return { status, headers, body }
  }
}
