/*
 * The W3C trace context (https://www.w3.org/TR/trace-context). Receipts and messages carry it as
 * two of their headers, and destinations receive it.
 */

/** The values that continue a trace in another process. */
export interface TraceContext {
  readonly traceparent: string
  /** Data of tracing vendors, such as the probability by which the trace was sampled. */
  readonly tracestate?: string | undefined
}

/** The part of an observer that knows the current trace. */
export interface TraceObserver {
  readonly traceparent?: (() => string | undefined) | undefined
  readonly tracestate?: (() => string | undefined) | undefined
}

/** Version, trace id, parent id and flags. Ids of zeros and version ff are invalid. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
/**
 * Every participant must pass on at least this length. Longer values are dropped, because strangers
 * send them too.
 */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/
const NAMES: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** Undefined unless the header is well-formed: strangers send it too. */
export function wellFormedTraceparent(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined
}

export function traceContextIn(headers: Readonly<Record<string, string>>): TraceContext | undefined {
  return traceContext(headers.traceparent, headers.tracestate)
}

/** Undefined without a well-formed traceparent: a tracestate means nothing by itself. */
export function traceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  const parent = wellFormedTraceparent(traceparent)
  if (parent === undefined) return undefined
  const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate)
  return isState ? { traceparent: parent, tracestate } : { traceparent: parent }
}

export function contextHeaders({ traceparent, tracestate }: TraceContext): Record<string, string> {
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}

/** Whether a header, in any spelling, is part of the trace context. */
export function isTraceHeader(name: string): boolean {
  return NAMES.has(name.toLowerCase())
}

export function traceIdOf(traceparent: string | undefined): string | undefined {
  return traceparent?.slice(3, 35)
}

/** The trace and span of a context whose trace is recorded. */
export function sampledIds(traceparent: string): { traceId: string; spanId: string } | undefined {
  const isSampled = (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1
  return isSampled ? { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52) } : undefined
}

/**
 * The first well-formed trace context that an observer returns. Undefined if no observer can return
 * one, so that nothing is prepared for it.
 */
export function traceContextOf(
  all: readonly TraceObserver[],
  onFault: (error: unknown) => void,
): (() => TraceContext | undefined) | undefined {
  const tracers = all.filter((observer) => observer.traceparent !== undefined)
  if (tracers.length === 0) return undefined
  return () => {
    for (const tracer of tracers) {
      try {
        const found = tracer.traceparent?.()
        if (found === undefined) continue
        const context = traceContext(found, tracer.tracestate?.())
        if (context) return context
        onFault(
          `${JSON.stringify(found)} is not a W3C traceparent: return 00-<trace id>-<span id>-<flags>, or undefined`,
        )
      } catch (error) {
        onFault(error)
      }
    }
    return undefined
  }
}
