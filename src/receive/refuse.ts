import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, Refusal } from '../sources/contract.ts'
import { type Answer, notWanted, refusedWith } from './answer.ts'
import type { KnownSource } from './arrival.ts'
import type { Diagnoses } from './diagnoses.ts'
import type { Limits } from './limits.ts'
import type { Head } from './receive.ts'
import type { RejectionLog } from './rejections.ts'

interface RefusingOptions {
  readonly known: ReadonlyMap<string, unknown>
  readonly rejections: RejectionLog
  readonly diagnoses: Diagnoses
  readonly limits: Limits
  readonly observer: Observer
}

export interface Refusing {
  refuse(head: Head, code: ErrorCode, detail: string, status?: number): Answer
  /** With the status that the provider wants for what is not its own. */
  refuseSigned(head: Head, source: KnownSource, delivery: Delivery, refusal: Refusal): Answer
  /** Reports what would have been refused. The sender is told no more than of a type that nobody wants. */
  shadow(source: KnownSource, delivery: Delivery, refusal: Refusal): Answer
}

/** A refusal is an answer, a row in the log of rejections, and a number in the metrics. */
export function refusing({ known, rejections, diagnoses, limits, observer }: RefusingOptions): Refusing {
  const refuse: Refusing['refuse'] = (head, code, detail, status) => {
    // Names that nobody configured share one row: they come from outside.
    const source = known.has(head.sourceName) ? head.sourceName : '(unknown)'
    const answer = refusedWith(code, {
      ...(status === undefined ? {} : { status }),
      headers: headersOf(code, limits),
      close: UNREAD.has(code),
    })
    rejections.add(source, code, detail)
    observer.delivery({ source, outcome: 'rejected', status: answer.status, code, detail, durationMs: 0 })
    return answer
  }

  return {
    refuse,
    refuseSigned(head, { name, source }, delivery, refusal) {
      const { code, detail } = refusal
      diagnoses.offer(name, source, delivery, refusal)
      // Missing keys are our trouble, not the sender's: it shall come again.
      return refuse(head, code, detail, code === 'KEYS_UNAVAILABLE' ? undefined : source.refusedStatus)
    },
    shadow({ name, source }, delivery, refusal) {
      const { code, detail } = refusal
      diagnoses.offer(name, source, delivery, refusal)
      rejections.add(name, code, `not refused, for the source is in shadow mode: ${detail}`)
      const answer = notWanted(source)
      observer.delivery({
        source: name,
        outcome: 'shadowed',
        status: answer.status,
        code,
        detail,
        durationMs: 0,
      })
      return answer
    },
  }
}

/** Refusals that leave the rest of the request unread. */
const UNREAD: ReadonlySet<ErrorCode> = new Set([
  'SOURCE_UNKNOWN',
  'METHOD_NOT_ALLOWED',
  'CONTENT_ENCODING_UNSUPPORTED',
  'BODY_TOO_LARGE',
  'BODY_STALLED',
  'BODY_INCOMPLETE',
])

function headersOf(code: ErrorCode, limits: Limits): Record<string, string> {
  if (code === 'METHOD_NOT_ALLOWED') return { allow: 'POST' }
  if (code === 'OVERLOADED' || code === 'LEDGER_DOWN' || code === 'KEYS_UNAVAILABLE')
    return { 'retry-after': String(limits.retryAfterSeconds) }
  return {}
}
