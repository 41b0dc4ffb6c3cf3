import type { InSpan, OperationSpan, SpanEnd } from '../observe/span.ts'
import type { HandlerRun } from './run.ts'

interface Operation<Result> extends Pick<OperationSpan, 'kind' | 'name'> {
  readonly work: () => Promise<Result>
}

/** Runs a step or a transaction in a span of its attempt. */
export function inOperationSpan<Result>(
  inSpan: InSpan,
  { subscriber, job }: HandlerRun,
  { kind, name, work }: Operation<Result>,
): Promise<Result> {
  const { sourceName: source, name: subscriberName } = subscriber
  return inSpan({ kind, source, subscriber: subscriberName, receiptId: job.receiptId, name }, work, endOf)
}

function endOf(settled: PromiseSettledResult<unknown>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: 'done' }
}
