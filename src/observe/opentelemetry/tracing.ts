import type { Attributes, Context, Link, Span as OpenSpan, SpanContext } from '@opentelemetry/api'
import { stackOfThrown } from '../../model/thrown.ts'
import type { AttemptFact, CustomObserver, DeliveryFact } from '../observer.ts'
import type { Span, SpanEnd } from '../span.ts'
import type { Api } from './load-api.ts'
import { endName, errorType, type NameConvention, spanName } from './names.ts'

export interface TracingOptions {
  readonly names: NameConvention
  readonly sender: 'link' | 'parent'
}

type TracingObserver = Required<
  Pick<CustomObserver, 'span' | 'traceparent' | 'tracestate' | 'delivery' | 'attempt'>
>

/** A span that hookonce opened, for the facts that are reported inside it. */
interface Held {
  readonly span: OpenSpan
  facts: number
}

/** Opens spans with the tracer of the SDK. */
export function tracing(api: Api, { names, sender }: TracingOptions): TracingObserver {
  const { trace, context, SpanKind, SpanStatusCode, ROOT_CONTEXT } = api
  const tracer = trace.getTracer('hookonce')
  const held = api.createContextKey('hookonce.span')

  function remote({ traceparent, tracestate }: Carried): SpanContext | undefined {
    if (traceparent === undefined) return undefined
    const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
    const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
    return tracestate === undefined ? found : { ...found, traceState: api.createTraceState(tracestate) }
  }

  /** The parent of the span: another span, a span of another process, or none. */
  function placeOf(span: Span): { readonly parent: Context; readonly links: Link[] } {
    const active = context.active()
    switch (span.kind) {
      case 'delivery': {
        const sent = remote(span)
        const around = trace.getSpanContext(active)
        if (!sent) return { parent: active, links: [] }
        if (around)
          return { parent: active, links: around.traceId === sent.traceId ? [] : [{ context: sent }] }
        if (sender === 'parent') return { parent: trace.setSpanContext(active, sent), links: [] }
        return { parent: active, links: [{ context: sent }] }
      }
      case 'attempt':
      case 'message': {
        const before = remote(span)
        return { parent: before ? trace.setSpanContext(ROOT_CONTEXT, before) : ROOT_CONTEXT, links: [] }
      }
      default:
        return { parent: active, links: [] }
    }
  }

  function end(open: OpenSpan, span: Span, ended: SpanEnd): void {
    const { attributes, isError } = endName(span, ended, names)
    open.setAttributes(attributes)
    if (isError) {
      open.setStatus({ code: SpanStatusCode.ERROR })
      if ('error' in ended) open.addEvent('exception', exceptionOf(ended.error))
    }
    open.end()
  }

  function describe(fact: DeliveryFact | AttemptFact): void {
    const current = context.active().getValue(held) as Held | undefined
    if (!current) return
    const attributes = identifiers(fact)
    // One delivery may carry a batch of events. The further events become span events.
    if (current.facts === 0) current.span.setAttributes(attributes)
    else if (current.facts < MAX_EVENTS) current.span.addEvent(fact.outcome, attributes)
    current.facts += 1
  }

  return {
    span(span, run) {
      const { name, kind, attributes } = spanName(span, names)
      const { parent, links } = placeOf(span)
      const open = tracer.startSpan(name, { kind: SpanKind[kind], attributes, links }, parent)
      const inside = trace.setSpan(parent, open).setValue(held, { span: open, facts: 0 } satisfies Held)
      return context.with(inside, async () => end(open, span, await run()))
    },
    traceparent() {
      const current = trace.getSpanContext(context.active())
      if (!current || !api.isSpanContextValid(current)) return undefined
      const flags = current.traceFlags.toString(16).padStart(2, '0')
      return `00-${current.traceId}-${current.spanId}-${flags}`
    },
    tracestate: () => trace.getSpanContext(context.active())?.traceState?.serialize() || undefined,
    delivery: describe,
    attempt: describe,
  }
}

interface Carried {
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
}

/** The limit of SDKs for events of one span. */
const MAX_EVENTS = 128

function identifiers(fact: DeliveryFact | AttemptFact): Attributes {
  const { receiptId, eventKey, eventType, objectId } = fact
  return {
    ...(receiptId === undefined ? {} : { 'hookonce.receipt_id': receiptId }),
    ...(eventKey === undefined ? {} : { 'hookonce.event_key': eventKey }),
    ...(eventType === undefined ? {} : { 'hookonce.event_type': eventType }),
    ...(objectId === undefined ? {} : { 'hookonce.object_id': objectId }),
    ...('code' in fact && fact.code !== undefined ? { 'hookonce.code': fact.code } : {}),
  }
}

/**
 * Omits the message: spans are sent to other systems, and the message of a handler's error may
 * quote a payload. Logs and the ledger hold it, under the receipt's id.
 */
function exceptionOf(error: unknown): Attributes {
  const stack = stackOfThrown(error)
  return {
    'exception.type': errorType(error),
    ...(stack.length > 0 ? { 'exception.stacktrace': stack.map((frame) => `at ${frame}`).join('\n') } : {}),
  }
}
