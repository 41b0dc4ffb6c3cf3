import type { Answer } from '../delivery/answer.ts'
import type { Receiver } from '../delivery/receiver.ts'
import type { Head } from '../delivery/request.ts'
import type { Observer } from '../observe/observer.ts'
import { type InSpan, type SpanEnd, wellFormedTraceparent } from '../observe/span.ts'
import type { TopicPublisher } from '../publish/publishers.ts'

/*
 * Stages whose work is run in spans. Without an observer that opens spans, the stages are used as
 * they are, so that the hot paths pay nothing.
 */

export function tracedReceiver(receiver: Receiver, { inSpan, traceparent }: Observer): Receiver {
  if (!inSpan) return receiver
  return {
    ...receiver,
    receive(head, body) {
      const span = {
        kind: 'delivery',
        source: head.sourceName,
        traceparent: wellFormedTraceparent(head.header(TRACEPARENT)),
      } as const
      return inSpan(span, () => receiver.receive(recordedWith(traceparent?.(), head), body), answerEnd)
    },
  }
}

export function tracedPublishers(
  publishers: readonly TopicPublisher[],
  inSpan: InSpan | undefined,
): readonly TopicPublisher[] {
  if (!inSpan) return publishers
  return publishers.map(({ takes, publish }) => ({
    takes,
    publish(message, call) {
      const span = {
        kind: 'message',
        messageId: message.id,
        topic: message.topic,
        key: message.key,
        receiptId: message.receiptId,
        attempt: message.attempt,
        traceparent: wellFormedTraceparent(message.headers[TRACEPARENT]),
      } as const
      return inSpan(span, async () => publish(message, call), publishEnd)
    },
  }))
}

const TRACEPARENT = 'traceparent'

/**
 * The trace context travels with the receipt, as one of its headers. `header` stays as it is: a
 * signature may cover what was sent.
 */
function recordedWith(traceparent: string | undefined, head: Head): Head {
  if (traceparent === undefined) return head
  const { headerPairs } = head
  const others = headerPairs.filter((_, at) => headerPairs[at - (at % 2)]?.toLowerCase() !== TRACEPARENT)
  return { ...head, headerPairs: [...others, TRACEPARENT, traceparent] }
}

function answerEnd(settled: PromiseSettledResult<Answer>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: String(settled.value.status) }
}

function publishEnd(settled: PromiseSettledResult<unknown>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: 'published' }
}
