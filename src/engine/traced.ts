import type { Receiver } from '../delivery/receiver.ts'
import type { Head } from '../delivery/request.ts'
import type { Observer } from '../observe/observer.ts'
import type { SpanEnd } from '../observe/span.ts'
import {
  contextHeaders,
  isTraceHeader,
  type TraceContext,
  traceContext,
  traceContextIn,
} from '../observe/trace-context.ts'
import type { TopicPublisher } from '../publish/publishers.ts'

/*
 * Wraps stages so that their work runs in spans. If no observer opens spans, the stages are not
 * wrapped, so the hot paths have no extra cost.
 */

type SpanSource = Pick<Observer, 'inSpan' | 'traceContext'>
type Message = Parameters<TopicPublisher['publish']>[0]

interface WithStatus {
  readonly status: number
}

export function tracedReceiver<Reply extends WithStatus>(
  receiver: Receiver<Reply>,
  { inSpan, traceContext: current }: SpanSource,
): Receiver<Reply> {
  if (!inSpan) return receiver
  return {
    ...receiver,
    receive(head, body) {
      const sent = traceContext(head.header('traceparent'), head.header('tracestate'))
      const span = {
        kind: 'delivery',
        source: head.sourceName,
        traceparent: sent?.traceparent,
        tracestate: sent?.tracestate,
      } as const
      return inSpan(span, () => receiver.receive(recordedWith(current?.(), head), body), answerEnd)
    },
  }
}

export function tracedPublishers(
  publishers: readonly TopicPublisher[],
  { inSpan, traceContext: current }: SpanSource,
): readonly TopicPublisher[] {
  if (!inSpan) return publishers
  return publishers.map(({ takes, publish }) => ({
    takes,
    publish(message, call) {
      const recorded = traceContextIn(message.headers)
      const span = {
        kind: 'message',
        messageId: message.id,
        topic: message.topic,
        key: message.key,
        receiptId: message.receiptId,
        attempt: message.attempt,
        traceparent: recorded?.traceparent,
        tracestate: recorded?.tracestate,
      } as const
      return inSpan(span, async () => publish(carrying(current?.(), message), call), publishEnd)
    },
  }))
}

/**
 * The receipt carries the trace context as two of its headers. `header` does not change, because a
 * signature may cover it.
 */
function recordedWith(context: TraceContext | undefined, head: Head): Head {
  if (context === undefined) return head
  const { headerPairs } = head
  const others = headerPairs.filter((_, at) => !isTraceHeader(headerPairs[at - (at % 2)] ?? ''))
  return { ...head, headerPairs: [...others, ...Object.entries(contextHeaders(context)).flat()] }
}

/**
 * The receiver of a message continues the span of the handler, unless the handler passed its own
 * context.
 */
function carrying(context: TraceContext | undefined, message: Message): Message {
  const { headers } = message
  const isOwn = traceContextIn(headers) === undefined && Object.keys(headers).some(isTraceHeader)
  if (context === undefined || isOwn) return message
  const others = Object.entries(headers).filter(([name]) => !isTraceHeader(name))
  return { ...message, headers: { ...Object.fromEntries(others), ...contextHeaders(context) } }
}

function answerEnd(settled: PromiseSettledResult<WithStatus>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: String(settled.value.status) }
}

function publishEnd(settled: PromiseSettledResult<unknown>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: 'published' }
}
