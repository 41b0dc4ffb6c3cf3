import { HookonceError } from '../model/errors.ts'
import { stackOfThrown, textOfThrown } from '../model/thrown.ts'
import type { DeliveryFact, Observer } from './observer.ts'

/** Where log lines go: the shape of pino, winston's adapters and console wrappers. */
export interface Logger {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** Lines of JSON on standard error. By default only what needs attention. */
export function jsonLogger(level: 'info' | 'warn' = 'warn'): Logger {
  const write = (name: string, fields: Record<string, unknown>, message: string): void => {
    process.stderr.write(
      `${JSON.stringify({ time: new Date().toISOString(), level: name, message, ...fields })}\n`,
    )
  }
  return {
    info: (fields, message) => (level === 'info' ? write('info', fields, message) : undefined),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

/** Refusals come from outside and as fast as anyone likes: one line for each source and reason in this time. */
const REFUSALS_EVERY_MS = 10_000

/** Tells what happened in the words of the glossary. Never a secret, never a body. */
export function logs(logger: Logger): Observer {
  const refusals = new Map<string, { since: number; silent: number }>()

  function refused({ source, code, detail, outcome }: DeliveryFact): void {
    const key = `${source} ${code}`
    const last = refusals.get(key)
    const now = performance.now()
    if (last && now - last.since < REFUSALS_EVERY_MS) {
      last.silent += 1
      return
    }
    refusals.set(key, { since: now, silent: 0 })
    logger.warn(
      { source, code, detail, not_logged_before: last?.silent ?? 0 },
      outcome === 'shadowed'
        ? 'delivery would be refused, were this source not in shadow mode'
        : 'delivery refused',
    )
  }

  return {
    delivery(fact) {
      if (fact.outcome === 'rejected' || fact.outcome === 'shadowed') return refused(fact)
      const fields = {
        source: fact.source,
        event_key: fact.eventKey,
        event_type: fact.eventType,
        object_id: fact.objectId,
        receipt_id: fact.receiptId,
        status: fact.status,
      }
      if (fact.outcome === 'mismatch')
        logger.warn(fields, 'known event key with another body: the first body stands')
      else logger.info(fields, fact.outcome)
    },
    diagnosis({ source, code, diagnosis }) {
      logger.warn({ source, code, detail: diagnosis }, 'why a delivery was refused')
    },
    keyFinding({ source, finding, says }) {
      logger.warn({ source, finding, detail: says }, 'the event key of a source looks wrong')
    },
    attempt(fact) {
      const fields = {
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
      }
      if (fact.outcome === 'failed')
        logger.error(fields, 'job failed: it will not be tried again until it is replayed')
      else if (fact.outcome === 'attention')
        logger.error(fields, 'job waits for a person: see `hookonce attention list`')
      else if (fact.outcome === 'retrying' || fact.outcome === 'lost')
        logger.warn(fields, `attempt ${fact.outcome}`)
      else logger.info(fields, fact.outcome)
    },
    rescue(fact) {
      if (fact.needsPerson) {
        const fields = { receipt_id: fact.receiptId, status: 'attention' }
        return logger.error(fields, 'job waits for a person: see `hookonce attention list`')
      }
      const fields = { receipt_id: fact.receiptId, status: fact.buried ? 'failed' : 'retrying' }
      logger.warn(
        fields,
        fact.buried ? 'job buried: its worker died with it too often' : 'job rescued from a worker that died',
      )
    },
    message(fact) {
      const fields = {
        message_id: fact.messageId,
        topic: fact.topic,
        key: fact.key,
        attempt: fact.attempt,
        duration_ms: Math.round(fact.durationMs),
        status: fact.outcome,
        ...(fact.error === undefined ? {} : failureOf(fact)),
      }
      if (fact.outcome === 'failed')
        logger.error(fields, 'message failed: it will not be published until it is replayed')
      else if (fact.outcome === 'published' || fact.outcome === 'returned')
        logger.info(fields, `message ${fact.outcome}`)
      else logger.warn(fields, `message ${fact.outcome}`)
    },
    trouble(fact) {
      logger.error({ error: textOfThrown(fact.error) }, `trouble while ${fact.doing}`)
    },
  }
}

/** Undefined can be thrown too. Of errors of ours the text says it all. */
function failureOf(fact: { readonly error?: unknown }): Record<string, unknown> {
  if (!('error' in fact)) return {}
  const stack = fact.error instanceof HookonceError ? [] : stackOfThrown(fact.error)
  return { error: textOfThrown(fact.error), ...(stack.length > 0 ? { stack } : {}) }
}
