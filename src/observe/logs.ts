import { HookonceError } from '../model/errors.ts'
import { loggedTextOfThrown, stackOfThrown } from '../model/thrown.ts'
import { limitedWarnings } from './limited-warning.ts'
import { lineLimit } from './line-limit.ts'
import type { DeliveryFact, Observer } from './observer.ts'
import { printable } from './printable.ts'
import { type TraceContext, traceIdOf } from './trace-context.ts'

/** The receiver of log lines: the shape of pino, winston's adapters and console wrappers. */
export interface Logger {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** Writes lines of JSON to standard error. By default only warnings and errors. */
export function jsonLogger(level: 'info' | 'warn' = 'warn'): Logger {
  const write = (name: string, fields: Record<string, unknown>, message: string): void => {
    const line = JSON.stringify({ time: new Date().toISOString(), level: name, message, ...fields })
    process.stderr.write(`${printable(line)}\n`)
  }
  return {
    info: (fields, message) => (level === 'info' ? write('info', fields, message) : undefined),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

type Level = keyof Logger
type Fields = Record<string, unknown>

const REFUSAL_LINES: Partial<Record<DeliveryFact['outcome'], string>> = {
  rejected: 'delivery refused',
  shadowed: 'delivery would be refused if this source were not in shadow mode',
}

/**
 * Logs facts in the words of the glossary, never a secret or a body. Lines name the trace if
 * `traceContext` returns one. Recorded and processed events are logged each time, because only an
 * authenticated sender causes them, once per event. All other lines are limited by kind
 * (line-limit.ts).
 */
export function logs(logger: Logger, traceContext?: () => TraceContext | undefined): Observer {
  const limit = lineLimit()
  const warn = limitedWarnings()

  /** Facts are reported in the asynchronous context of their work. */
  function traced(fields: Fields): Fields {
    const traceId = traceIdOf(traceContext?.()?.traceparent)
    return traceId === undefined ? fields : { ...fields, trace_id: traceId }
  }

  /** `fields` is called only for lines that are written: most lines of a flood are not. */
  function limited(kind: string, level: Level, fields: () => Fields, message: string): void {
    limit({
      kind,
      write: () => logger[level](traced(fields()), message),
      summarise: (andMore, leftOut) => {
        // A timer calls this, where an error of the logger would end the process.
        try {
          logger[level]({ ...fields(), not_logged: leftOut }, `${message} ${andMore}`)
        } catch (error) {
          warn('logger', `the logger of hookonce threw: ${String(error)}`)
        }
      },
    })
  }

  /** A refused delivery, or one that was recorded without its key or type. */
  function logRefusal({ source, code, detail, outcome, status }: DeliveryFact): void {
    const message = REFUSAL_LINES[outcome] ?? 'delivery recorded, although a documented field is missing'
    limited(`${outcome} ${source} ${code}`, 'warn', () => ({ source, code, detail, status }), message)
  }

  return {
    delivery(fact) {
      if (fact.outcome === 'rejected' || fact.outcome === 'shadowed') return logRefusal(fact)
      if (fact.code !== undefined) logRefusal(fact)
      const fields = () => ({
        source: fact.source,
        event_key: fact.eventKey,
        event_type: fact.eventType,
        object_id: fact.objectId,
        receipt_id: fact.receiptId,
        status: fact.status,
      })
      if (fact.outcome === 'recorded') return logger.info(traced(fields()), 'recorded')
      // Anyone who has seen one signed delivery can repeat it, so these lines are limited.
      const kind = `${fact.outcome} ${fact.source}`
      if (fact.outcome === 'mismatch')
        limited(kind, 'warn', fields, 'known event key with another body: the first body is kept')
      else limited(kind, 'info', fields, fact.outcome)
    },
    diagnosis({ source, code, diagnosis }) {
      const fields = () => ({ source, code, detail: diagnosis })
      limited(`diagnosis ${source} ${code}`, 'warn', fields, 'refused delivery diagnosed')
    },
    keyFinding({ source, finding, says }) {
      const fields = () => ({ source, finding, detail: says })
      limited(`key ${source} ${finding}`, 'warn', fields, 'the event key of a source looks wrong')
    },
    unattended({ source, subscriber, jobs, since }) {
      logger.warn(
        { source, job: subscriber, jobs, since: since.toISOString() },
        'jobs wait for a subscriber that no worker serves: see `hookonce subscribers`',
      )
    },
    alert({ id, rule, source, subscriber, says, became }) {
      const about = subscriber === '' ? {} : { job: subscriber }
      const fields = { alert: id, rule, source, ...about, detail: says }
      logger[became === 'resolved' ? 'info' : 'warn'](fields, `alert ${became}`)
    },
    attempt(fact) {
      const fields = () => ({
        source: fact.source,
        event_key: fact.eventKey,
        event_type: fact.eventType,
        object_id: fact.objectId,
        receipt_id: fact.receiptId,
        job: fact.subscriber,
        attempt: fact.attempt,
        duration_ms: Math.round(fact.durationMs),
        status: fact.outcome,
        ...failureOf(fact),
      })
      const { outcome } = fact
      if (outcome === 'processed' || outcome === 'stale') return logger.info(traced(fields()), outcome)
      const kind = `${outcome} ${fact.source} ${fact.subscriber}`
      if (outcome === 'failed')
        limited(kind, 'error', fields, 'job failed: it will not be tried again until it is replayed')
      else if (outcome === 'attention')
        limited(kind, 'error', fields, 'job waits for a person: see `hookonce attention list`')
      else if (outcome === 'retrying' || outcome === 'lost')
        limited(kind, 'warn', fields, `attempt ${outcome}`)
      else limited(kind, 'info', fields, outcome)
    },
    circuit({ limiter, subscribers, state, wasClosed, reason }) {
      const [first] = subscribers
      const fields = () => ({
        limiter,
        source: first?.source,
        job: first?.subscriber,
        status: state,
        ...(reason === undefined ? {} : { error: reason }),
      })
      const kind = `circuit ${limiter} ${state}`
      if (state === 'closed') limited(kind, 'info', fields, 'circuit closed: its jobs run again')
      else if (state === 'half-open') limited(kind, 'info', fields, 'circuit half-open: one job at a time')
      else if (wasClosed)
        limited(kind, 'warn', fields, 'circuit opened: its jobs wait, and single jobs run as probes')
      else limited(kind, 'warn', fields, 'circuit stays open: a probe failed')
    },
    rescue(fact) {
      const fields = () => ({
        source: fact.source,
        event_key: fact.eventKey,
        event_type: fact.eventType,
        object_id: fact.objectId,
        receipt_id: fact.receiptId,
        job: fact.subscriber,
        attempt: fact.attempt,
        status: fact.needsPerson ? 'attention' : fact.buried ? 'failed' : 'retrying',
      })
      if (fact.needsPerson) {
        const message = 'job waits for a person: see `hookonce attention list`'
        return limited(`rescue ${message}`, 'error', fields, message)
      }
      const message = fact.buried
        ? 'job buried: too many workers died while running it'
        : 'job rescued from a worker that died'
      limited(message, 'warn', fields, message)
    },
    message(fact) {
      const fields = () => ({
        message_id: fact.messageId,
        topic: fact.topic,
        key: fact.key,
        receipt_id: fact.receiptId,
        ...(fact.traceId === undefined ? {} : { trace_id: fact.traceId }),
        attempt: fact.attempt,
        duration_ms: Math.round(fact.durationMs),
        status: fact.outcome,
        ...(fact.error === undefined ? {} : failureOf(fact)),
      })
      const { outcome } = fact
      if (outcome === 'published') return logger.info(fields(), 'message published')
      const kind = `message ${outcome} ${fact.topic}`
      if (outcome === 'failed')
        limited(kind, 'error', fields, 'message failed: it will not be published until it is replayed')
      else limited(kind, outcome === 'returned' ? 'info' : 'warn', fields, `message ${outcome}`)
    },
    warning({ message, detail }) {
      limited(`warning ${message}`, 'warn', () => ({ detail }), message)
    },
    trouble({ doing, eventKey, error }) {
      // The number of jobs in `doing` does not make a new kind.
      const kind = `trouble ${doing.replace(/\d+/g, '#')}`
      const fields = () => ({
        ...(eventKey === undefined ? {} : { event_key: eventKey }),
        error: loggedTextOfThrown(error),
      })
      limited(kind, 'error', fields, `trouble while ${doing}`)
    },
  }
}

/** Distinguishes an error that is undefined from no error. Errors of hookonce need no stack. */
function failureOf(fact: { readonly error?: unknown }): Record<string, unknown> {
  if (!('error' in fact)) return {}
  const stack = fact.error instanceof HookonceError ? [] : stackOfThrown(fact.error)
  return { error: loggedTextOfThrown(fact.error), ...(stack.length > 0 ? { stack } : {}) }
}
