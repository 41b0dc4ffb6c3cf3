import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, NamedSource, Refusal } from '../sources/contract.ts'
import { type Answer, notWanted, refusedWith } from './answer.ts'
import type { Diagnoses } from './diagnoses.ts'
import type { Head } from './request.ts'

/** The log of refusals for people. A ledger has this log, a key store does not. */
export interface RefusalLog {
  /** `header`: the header that caused the refusal. */
  add(source: string, code: ErrorCode, detail: string, header?: string): void
}

export interface RefusalOptions {
  readonly sources: ReadonlyMap<string, NamedSource>
  readonly log: RefusalLog
  readonly diagnoses: Diagnoses
  readonly retryAfterSeconds: number
  readonly observer: Pick<Observer, 'delivery'>
}

export type Refuse = (head: Head, code: ErrorCode, detail: string, how?: RefusalAnswer) => Answer

interface RefusalAnswer {
  /** Replaces the status in the catalogue. */
  readonly status?: number
  readonly retryAfterSeconds?: number | undefined
  /** The header that caused the refusal. */
  readonly header?: string | undefined
}

export interface Refusals {
  readonly refuse: Refuse
  /** Answers with the status that the provider expects for a forged delivery. */
  refuseUnverified(head: Head, source: NamedSource, delivery: Delivery, refusal: Refusal): Answer
  /**
   * Reports a refusal without refusing. The sender gets the same answer as for an unwanted type.
   */
  shadow(source: NamedSource, delivery: Delivery, refusal: Refusal): Answer
}

/** A refusal is an answer, a line in the log of refusals, and a number in the metrics. */
export function refusals({ sources, log, diagnoses, retryAfterSeconds, observer }: RefusalOptions): Refusals {
  function headersOf(code: ErrorCode, afterSeconds: number): Record<string, string> {
    if (code === 'METHOD_NOT_ALLOWED') return { allow: 'POST' }
    return RETRIED.has(code) ? { 'retry-after': String(afterSeconds) } : {}
  }

  const refuse: Refuse = (head, code, detail, how = {}) => {
    const { status } = how
    // Sources that are not configured share one row, because strangers choose their names.
    const source = sources.has(head.sourceName) ? head.sourceName : '(unknown)'
    const answer = refusedWith(code, {
      ...(status === undefined ? {} : { status }),
      headers: headersOf(code, how.retryAfterSeconds ?? retryAfterSeconds),
      close: UNREAD.has(code),
    })
    log.add(source, code, detail, how.header)
    observer.delivery({ source, outcome: 'rejected', status: answer.status, code, detail, durationMs: 0 })
    return answer
  }

  return {
    refuse,
    refuseUnverified(head, { name, source }, delivery, refusal) {
      const { code, detail, header } = refusal
      diagnoses.offer(name, source, delivery, refusal)
      // Missing keys are a fault of hookonce: the sender must retry, so hookonce chooses the
      // status.
      const status = code === 'KEYS_UNAVAILABLE' ? {} : { status: source.refusedStatus }
      return refuse(head, code, detail, { ...status, header })
    },
    shadow({ name, source }, delivery, refusal) {
      const { code, detail, header } = refusal
      diagnoses.offer(name, source, delivery, refusal)
      log.add(name, code, `not refused, because the source is in shadow mode: ${detail}`, header)
      const answer = notWanted(source)
      const { status } = answer
      observer.delivery({ source: name, outcome: 'shadowed', status, code, detail, durationMs: 0 })
      return answer
    },
  }
}

/** Refusals that leave the rest of the request unread. */
const UNREAD: ReadonlySet<ErrorCode> = new Set([
  'SOURCE_UNKNOWN',
  'METHOD_NOT_ALLOWED',
  'ADDRESS_NOT_ALLOWED',
  'CONTENT_ENCODING_UNSUPPORTED',
  'BODY_TOO_LARGE',
  'BODY_STALLED',
  'BODY_INCOMPLETE',
])

const RETRIED: ReadonlySet<ErrorCode> = new Set([
  'OVERLOADED',
  'LEDGER_DOWN',
  'KEYS_UNAVAILABLE',
  'RATE_LIMITED',
])
