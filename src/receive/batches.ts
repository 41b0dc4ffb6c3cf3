import { type Answer, recordedBatch } from '../delivery/answer.ts'
import type { Refuse } from '../delivery/refuse.ts'
import type { VerifiedRequest } from '../delivery/request.ts'
import type { HeldBytes } from '../http/held-bytes.ts'
import type { Delivery, Source } from '../sources/contract.ts'
import type { KnownSource } from './source.ts'

type RecordEvent = (request: VerifiedRequest<KnownSource>, delivery: Delivery) => Promise<Answer>

interface BatchOptions {
  readonly held: HeldBytes
  readonly refuse: Refuse
  readonly record: RecordEvent
}

/** Records one verified delivery of many events. Acknowledges it when all are recorded. */
export function batches({ held, refuse, record }: BatchOptions): RecordEvent {
  return async (request, delivery) => {
    const { head, source } = request
    const events = source.source.split?.(delivery) ?? []
    if ('ok' in events) return refuse(head, events.code, events.detail)
    const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0)
    const share = held.share()
    try {
      if (!share.hold(bytes)) return refuse(head, 'OVERLOADED', `there is no room for ${bytes} bytes`)
      const answers = await Promise.all(events.map((event) => record(request, event)))
      return answerToAll(source.source, answers)
    } finally {
      share.release()
    }
  }
}

/**
 * The first refusal, if there is one: the sender must retry. Recorded events are duplicates by
 * then.
 */
function answerToAll(source: Source, answers: readonly Answer[]): Answer {
  const refusal = answers.find(({ status }) => status >= 500) ?? answers.find(({ status }) => status >= 400)
  if (refusal) return refusal
  const [only, ...others] = answers
  return only && others.length === 0 ? only : recordedBatch(source, answers.length)
}
