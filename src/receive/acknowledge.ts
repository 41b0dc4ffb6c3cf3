import { type Answer, knownAlready, notWanted, recorded, refusedWith } from '../delivery/answer.ts'
import type { Observer } from '../observe/observer.ts'
import type { Identified, Source } from '../sources/contract.ts'
import type { Acceptance, Arrival } from './accept.ts'
import type { KnownSource } from './source.ts'

interface AcceptedEvent {
  readonly source: KnownSource
  readonly arrival: Arrival
  readonly unread: Identified['unread']
}

/** Answers a delivery whose event was accepted or is unwanted, and reports it to the observer. */
export function acknowledgements(observer: Observer) {
  function acknowledge(
    { source, arrival: { receipt }, unread }: AcceptedEvent,
    acceptance: Acceptance,
    startedAt: number,
  ): Answer {
    const answer = answerTo(source.source, receipt.id, acceptance)
    observer.delivery({
      source: source.name,
      outcome: acceptance,
      status: answer.status,
      receiptId: receipt.id,
      eventKey: receipt.eventKey,
      eventType: receipt.eventType,
      objectId: receipt.objectId,
      durationMs: performance.now() - startedAt,
      ...unread,
    })
    return answer
  }

  function ignore(source: KnownSource, event: Identified, startedAt: number): Answer {
    const answer = notWanted(source.source)
    observer.delivery({
      source: source.name,
      outcome: 'unwanted',
      status: answer.status,
      eventKey: event.key,
      eventType: event.type,
      durationMs: performance.now() - startedAt,
    })
    return answer
  }

  return { acknowledge, ignore }
}

function answerTo(source: Source, receiptId: string, acceptance: Acceptance): Answer {
  if (acceptance === 'mismatch' && source.mismatch === 'reject') return refusedWith('BODY_MISMATCH')
  return acceptance === 'recorded' ? recorded(source, receiptId) : knownAlready(source, receiptId)
}
