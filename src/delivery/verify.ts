import type { Delivery, NamedSource, Refusal } from '../sources/contract.ts'
import type { Answer } from './answer.ts'
import type { AnswerHandshake } from './handshake.ts'
import type { Refusals } from './refuse.ts'
import type { SourceRequest, VerifiedRequest } from './request.ts'

interface VerificationOptions extends Refusals {
  readonly answerHandshake: AnswerHandshake
}

type Checked<S extends NamedSource> = VerifiedRequest<S> | Answer

/** The verified request (it has a `secret`), or the answer to a handshake or a forged delivery. */
export type Verify = <S extends NamedSource>(
  request: SourceRequest<S>,
  delivery: Delivery,
) => Checked<S> | Promise<Checked<S>>

/**
 * prepare → handshake → verify. Synchronous unless keys must be fetched or a handshake performed: a
 * needless promise would cost every delivery a turn of the event loop.
 */
export function verification({
  refuse,
  refuseUnverified,
  shadow,
  answerHandshake,
}: VerificationOptions): Verify {
  const verify: Verify = (request, delivery) => {
    const fetched = request.source.source.prepare?.(delivery)
    return fetched ? verifyPrepared(fetched, request, delivery) : verifyNow(request, delivery)
  }

  async function verifyPrepared<S extends NamedSource>(
    fetched: Promise<Refusal | undefined>,
    request: SourceRequest<S>,
    delivery: Delivery,
  ): Promise<Checked<S>> {
    const refusal = await fetched
    if (refusal) return refuseUnverified(request.head, request.source, delivery, refusal)
    return verifyNow(request, delivery)
  }

  function verifyNow<S extends NamedSource>(
    request: SourceRequest<S>,
    delivery: Delivery,
  ): Checked<S> | Promise<Checked<S>> {
    const { head, source: named, startedAt } = request
    const { source } = named
    const handshake = source.handshake?.(delivery)
    if (handshake) return answerHandshake(request, delivery, handshake)
    if (head.method !== 'POST') return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)
    const verified = source.verify(delivery)
    if (verified.ok) return { head, source: named, startedAt, secret: verified.secret }
    return source.mode === 'shadow'
      ? shadow(named, delivery, verified)
      : refuseUnverified(head, named, delivery, verified)
  }

  return verify
}
