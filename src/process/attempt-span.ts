import type { Event } from '../model/event.ts'
import type { InSpan, SpanEnd } from '../observe/span.ts'
import { type TraceContext, traceContextIn } from '../observe/trace-context.ts'
import { attempt } from './attempt.ts'
import type { Run } from './run.ts'
import type { SettleDeps } from './settle/settle-run.ts'

/** Runs an attempt in a span, which continues the trace of the delivery. */
export function attemptInSpan(run: Run, deps: SettleDeps, inSpan: InSpan): Promise<void> {
  const { observer } = deps
  let end: SpanEnd = { outcome: 'lost' }
  const watched = {
    ...deps,
    observer: {
      ...observer,
      attempt(fact) {
        end = 'error' in fact ? { outcome: fact.outcome, error: fact.error } : { outcome: fact.outcome }
        observer.attempt(fact)
      },
    },
  } satisfies SettleDeps
  const recorded = recordedContext(run.event)
  const span = {
    kind: 'attempt',
    source: run.subscriber.sourceName,
    subscriber: run.subscriber.name,
    receiptId: run.job.receiptId,
    attempt: run.attempt,
    traceparent: recorded?.traceparent,
    tracestate: recorded?.tracestate,
  } as const
  return inSpan(
    span,
    () => attempt(run, watched),
    () => end,
  )
}

/** The context recorded with the receipt. */
function recordedContext(event: () => Event): TraceContext | undefined {
  try {
    return traceContextIn(event().headers)
  } catch {
    // The attempt fails for the same reason, and reports it.
    return undefined
  }
}
