import type { Event } from '../model/event.ts'
import { type InSpan, type SpanEnd, wellFormedTraceparent } from '../observe/span.ts'
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
  const span = {
    kind: 'attempt',
    source: run.subscriber.sourceName,
    subscriber: run.subscriber.name,
    receiptId: run.job.receiptId,
    attempt: run.attempt,
    traceparent: traceparentOf(run.event),
  } as const
  return inSpan(
    span,
    () => attempt(run, watched),
    () => end,
  )
}

/** As it was recorded with the receipt. */
function traceparentOf(event: () => Event): string | undefined {
  try {
    return wellFormedTraceparent(event().headers.traceparent)
  } catch {
    // The attempt fails for the same reason, and reports it.
    return undefined
  }
}
