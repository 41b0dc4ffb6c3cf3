import { AsyncResource } from 'node:async_hooks'

/*
 * The seam for traces. An observer opens a span by running hookonce's work inside its own function,
 * so tracers that use AsyncLocalStorage see everything that the work does. Without such an
 * observer, none of this code runs.
 */

/** The work that a span covers. */
export type Span = DeliverySpan | AttemptSpan | OperationSpan | EffectSpan | ForwardSpan | MessageSpan

/** A delivery, from the end of its body to its answer. Opened in the context of its request. */
export interface DeliverySpan {
  readonly kind: 'delivery'
  readonly source: string
  /** The W3C trace context from the sender, if there is one. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
}

/** One run of a job, with the commit of its outcome. */
export interface AttemptSpan {
  readonly kind: 'attempt'
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  readonly attempt: number
  /** The W3C trace context of the delivery, which another process may have received. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
}

/** One `ctx.step` or `ctx.transaction` (also that of `ctx.latest`), inside its attempt. */
export interface OperationSpan {
  readonly kind: 'step' | 'transaction'
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  readonly name: string
}

/** One `ctx.effect`, `ctx.fetch` or `tx.effect`, inside its attempt. */
export interface EffectSpan {
  readonly kind: 'effect'
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  /** The business key. */
  readonly key: string
  readonly mode: 'tx' | 'keyed' | 'atMostOnce' | 'atLeastOnce'
}

/** One request to a destination of the gateway, inside its attempt. */
export interface ForwardSpan {
  readonly kind: 'forward'
  readonly source: string
  readonly destination: string
  readonly receiptId: string
  readonly attempt: number
  /** Scheme, host and port. A path or query may hold a token. */
  readonly origin: string
}

/** One call of a publisher. */
export interface MessageSpan {
  readonly kind: 'message'
  readonly messageId: string
  readonly topic: string
  readonly key: string | undefined
  readonly receiptId: string
  readonly attempt: number
  /** The W3C trace context of the attempt that published it. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
}

/** How the work of a span ended. */
export interface SpanEnd {
  /**
   * For a delivery and a forward: the HTTP status, or `error`. For an attempt and an effect: the
   * outcome in its fact. For a step and a transaction: `done` or `error`. For a message:
   * `published` or `error`.
   */
  readonly outcome: string
  readonly error?: unknown
}

/** The part of an observer that opens spans. */
export interface SpanObserver {
  span(span: Span, run: () => Promise<SpanEnd>): unknown
}

/** Runs work in a span of each observer that opens spans. */
export type InSpan = <Result>(
  span: Span,
  work: () => Promise<Result>,
  endOf: (settled: PromiseSettledResult<Result>) => SpanEnd,
) => Promise<Result>

/**
 * The first observer opens the outermost span. The work runs exactly once, whatever the observers
 * do.
 */
export function inSpansOf(all: readonly SpanObserver[], report: (error: unknown) => void): InSpan {
  // Accepted jobs start in the asynchronous context of one of the deliveries that shared their
  // commit, which may be the wrong one. So attempts and messages start in this context.
  const outside = new AsyncResource('hookonce')

  return (span, work, endOf) => {
    let running: ReturnType<typeof work> | undefined
    const runOnce = () => {
      running ??= (async () => work())()
      return running
    }
    const open = all.reduceRight<() => Promise<SpanEnd>>(
      (run, observer) => () => openSpan({ observer, span, run, report }),
      () => Promise.allSettled([runOnce()]).then(([settled]) => endOf(settled)),
    )
    if (span.kind === 'attempt' || span.kind === 'message') void outside.runInAsyncScope(open)
    else void open()
    return runOnce()
  }
}

interface SpanStart {
  readonly observer: SpanObserver
  readonly span: Span
  readonly run: () => Promise<SpanEnd>
  readonly report: (error: unknown) => void
}

/** Runs the work even if the observer threw or did not run it. */
function openSpan({ observer, span, run, report }: SpanStart): Promise<SpanEnd> {
  let running: Promise<SpanEnd> | undefined
  const runOnce = (): Promise<SpanEnd> => {
    running ??= run()
    return running
  }
  try {
    Promise.resolve(observer.span(span, runOnce)).catch(report)
  } catch (error) {
    report(error)
  }
  return runOnce()
}
