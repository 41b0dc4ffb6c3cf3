import type { Attributes } from '@opentelemetry/api'
import { HookonceError } from '../../model/errors.ts'
import type { Span, SpanEnd } from '../span.ts'

/*
 * Names of spans, and their attributes. `hookonce.*` attributes are always present. The names of
 * the semantic conventions for messaging, which are not stable yet, can be omitted.
 */

/** `messaging`: names of the semantic conventions. `hookonce`: names that only hookonce defines. */
export type NameConvention = 'messaging' | 'hookonce'

export interface SpanName {
  readonly name: string
  readonly kind: 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER' | 'INTERNAL'
  readonly attributes: Attributes
}

/** Keys, ids and step names are attributes only: the number of span names must stay small. */
export function spanName(span: Span, convention: NameConvention): SpanName {
  const plain = { name: `hookonce.${span.kind}`, ...PLAIN[span.kind], attributes: ownAttributes(span) }
  if (convention === 'hookonce') return plain
  const { name = plain.name, attributes } = conventional(span)
  return { ...plain, name, attributes: { ...plain.attributes, ...attributes } }
}

const PLAIN: Readonly<Record<Span['kind'], Pick<SpanName, 'kind'>>> = {
  delivery: { kind: 'SERVER' },
  attempt: { kind: 'CONSUMER' },
  step: { kind: 'INTERNAL' },
  transaction: { kind: 'INTERNAL' },
  effect: { kind: 'INTERNAL' },
  forward: { kind: 'CLIENT' },
  message: { kind: 'PRODUCER' },
}

function ownAttributes(span: Span): Attributes {
  switch (span.kind) {
    case 'delivery':
      return { 'hookonce.source': span.source }
    case 'attempt':
      return { ...ofJob(span), 'hookonce.attempt': span.attempt }
    case 'step':
    case 'transaction':
      return { ...ofJob(span), 'hookonce.step': span.name }
    case 'effect':
      return { ...ofJob(span), 'hookonce.effect.key': span.key, 'hookonce.effect.mode': span.mode }
    case 'forward':
      return {
        'hookonce.source': span.source,
        'hookonce.destination': span.destination,
        'hookonce.receipt_id': span.receiptId,
        'hookonce.attempt': span.attempt,
      }
    case 'message':
      return {
        'hookonce.topic': span.topic,
        'hookonce.message_id': span.messageId,
        'hookonce.receipt_id': span.receiptId,
        'hookonce.attempt': span.attempt,
      }
  }
}

interface OfJob {
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
}

function ofJob({ source, subscriber, receiptId }: OfJob): Attributes {
  return {
    'hookonce.source': source,
    'hookonce.subscriber': subscriber,
    'hookonce.receipt_id': receiptId,
  }
}

/** https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/ */
function conventional(span: Span): { readonly name?: string; readonly attributes?: Attributes } {
  switch (span.kind) {
    case 'delivery':
      return {
        name: `receive ${span.source}`,
        attributes: operation('receive', 'receive', span.source),
      }
    case 'attempt':
      return {
        name: `process ${span.source}`,
        attributes: {
          ...operation('process', 'process', span.source),
          'messaging.consumer.group.name': span.subscriber,
          'messaging.message.id': span.receiptId,
        },
      }
    case 'message':
      return {
        name: `publish ${span.topic}`,
        attributes: {
          ...operation('publish', 'send', span.topic),
          'messaging.message.id': span.messageId,
        },
      }
    case 'forward': {
      const { protocol, hostname, port } = new URL(span.origin)
      const usualPort = protocol === 'https:' ? 443 : 80
      return {
        name: 'POST',
        attributes: {
          'http.request.method': 'POST',
          'server.address': hostname,
          'server.port': port === '' ? usualPort : Number(port),
          ...(span.attempt > 1 ? { 'http.request.resend_count': span.attempt - 1 } : {}),
        },
      }
    }
    default:
      return {}
  }
}

/** Attributes that spans and metrics share. */
export function operation(name: string, type: string, destination: string): Attributes {
  return {
    'messaging.system': 'hookonce',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.destination.name': destination,
  }
}

export interface EndName {
  readonly attributes: Attributes
  readonly isError: boolean
}

/** Outcomes that are not failures, although their work threw. */
const EXPECTED: ReadonlySet<string> = new Set(['deferred', 'returned', 'busy'])

export function endName(span: Span, end: SpanEnd, convention: NameConvention): EndName {
  const { outcome } = end
  const status = span.kind === 'delivery' || span.kind === 'forward' ? Number(outcome) : Number.NaN
  const hasFailed = 'error' in end && !EXPECTED.has(outcome)
  // As for HTTP: a fault of the client is not an error of the server.
  const isError = hasFailed || status >= (span.kind === 'delivery' ? 500 : 400)
  const isNamed = convention === 'messaging'
  return {
    attributes: {
      'hookonce.outcome': outcome,
      ...(isNamed && !Number.isNaN(status) ? { 'http.response.status_code': status } : {}),
      ...(isNamed && isError ? { 'error.type': hasFailed ? errorType(end.error) : outcome } : {}),
    },
    isError,
  }
}

/** The code of our own errors, the class name of others. */
export function errorType(error: unknown): string {
  if (error instanceof HookonceError) return error.code
  return error instanceof Error && typeof error.name === 'string' ? error.name : '_OTHER'
}
