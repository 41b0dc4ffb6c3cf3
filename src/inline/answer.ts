import { type Answer, inProgress, processedBefore, refusedWith } from '../delivery/answer.ts'
import { RETRY_AFTER_SECONDS } from '../delivery/limits.ts'
import { restore } from '../keys/http/keep.ts'
import { retryAfter } from '../keys/http/keyed.ts'
import { type Reply, withHeaders } from '../keys/http/message.ts'
import type { Outcome } from '../keys/run.ts'
import { SECOND_MS } from '../model/durations.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { DeliveryFact } from '../observe/observer.ts'
import type { Source } from '../sources/contract.ts'
import type { CheckedInlineOptions } from './options.ts'

/** The reply to an event, and the facts reported about it. */
export interface InlineAnswer extends Pick<DeliveryFact, 'outcome' | 'code'> {
  readonly reply: Reply
}

/** Returns a function that turns the outcome of a run into the HTTP answer. */
export function outcomeAnswers(
  source: Source,
  whileInProgress: CheckedInlineOptions['inProgress'],
): (outcome: Outcome<Reply>) => Promise<InlineAnswer> {
  return async (outcome) => {
    switch (outcome.outcome) {
      case 'ran':
        return { outcome: 'recorded', reply: outcome.value }
      case 'completed': {
        const { reply } = await restore(outcome.record.result ?? new Uint8Array(), {})
        const replayed = { 'idempotent-replayed': 'true' }
        return {
          outcome: 'duplicate',
          reply: withHeaders(reply ?? replyOf(processedBefore(source)), replayed),
        }
      }
      case 'locked': {
        if (whileInProgress === 'accept') return { outcome: 'duplicate', reply: replyOf(inProgress(source)) }
        const { headers } = retryAfter((outcome.record.lockUntil - outcome.now) / SECOND_MS)
        return rejected('KEY_IN_PROGRESS', headers)
      }
      case 'mismatch':
        return { ...rejected('BODY_MISMATCH'), outcome: 'mismatch' }
      case 'unknown':
        return rejected('OUTCOME_UNKNOWN')
      case 'lost':
        return rejected('LOCK_LOST', retryAfter(1).headers)
    }
  }
}

/** The answer after the handler threw. */
export function failed(): InlineAnswer {
  return rejected('HANDLER_FAILED')
}

export function storeDown(): InlineAnswer {
  return rejected('KEY_STORE_DOWN', { 'retry-after': String(RETRY_AFTER_SECONDS) })
}

function rejected(code: ErrorCode, headers: Record<string, string> = {}): InlineAnswer {
  return { outcome: 'rejected', code, reply: replyOf(refusedWith(code, { headers })) }
}

/** An answer in the form in which key stores keep replies. */
export function replyOf({ status, headers, body }: Answer): Reply {
  return { status, headers: Object.entries(headers), body: Buffer.from(body) }
}
