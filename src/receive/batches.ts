import type { Delivery, Source } from '../sources/contract.ts'
import { type Answer, recordedBatch } from './answer.ts'
import type { Limits } from './limits.ts'
import type { HeldBytes, Receiver, Request } from './receive.ts'

interface BatchOptions {
  readonly held: HeldBytes
  readonly limits: Limits
  readonly refuse: Receiver['refuse']
  receiveEvent(request: Request, delivery: Delivery): Promise<Answer>
}

/** One verified delivery of many events: acknowledged when all of them are recorded, and not before. */
export function batches({
  held,
  limits,
  refuse,
  receiveEvent,
}: BatchOptions): (request: Request, delivery: Delivery) => Promise<Answer> {
  return async (request, delivery) => {
    const { head, source } = request
    const events = source.source.split?.(delivery) ?? []
    if ('ok' in events) return refuse(head, events.code, events.detail)
    const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0)
    if (held.bytes + bytes > limits.maxHeldBytes)
      return refuse(head, 'OVERLOADED', `${held.bytes} bytes are held`)
    held.bytes += bytes
    try {
      const answers = await Promise.all(events.map((event) => receiveEvent(request, event)))
      return answerToAll(source.source, answers)
    } finally {
      held.bytes -= bytes
    }
  }
}

/** The first refusal, if there is one: the sender must come again, and what is recorded already is known then. */
function answerToAll(source: Source, answers: readonly Answer[]): Answer {
  const refusal = answers.find(({ status }) => status >= 500) ?? answers.find(({ status }) => status >= 400)
  if (refusal) return refusal
  const [only, ...others] = answers
  return only && others.length === 0 ? only : recordedBatch(source, answers.length)
}
