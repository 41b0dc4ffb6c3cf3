import type { ErrorCode } from '../model/errors.ts'
import { limitedWarning } from './limited-warning.ts'

/**
 * The one place where deliveries, attempts, messages and upkeep are observed. Metrics and logs hang
 * on it; nothing else in the stages counts or prints. Facts carry names and ids, never a secret or
 * a body.
 */
export interface Observer {
  delivery(fact: DeliveryFact): void
  /**
   * Why a delivery was refused, where one was looked into. Not everyone is told: it is counted as a
   * delivery already.
   */
  diagnosis?(fact: DiagnosisFact): void
  /** The event key of a source does not do what it is for. */
  keyFinding?(fact: KeyFindingFact): void
  /** Jobs wait for a subscriber that no worker serves. */
  unattended?(fact: UnattendedFact): void
  attempt(fact: AttemptFact): void
  rescue(fact: RescueFact): void
  message(fact: MessageFact): void
  /** A periodic chore of upkeep finished. One that fails is reported to `trouble`, with its name. */
  chore?(fact: ChoreFact): void
  /** Something went wrong that no delivery or attempt tells of. */
  trouble(fact: TroubleFact): void
  /** It works, but somebody should know how: it is set up badly, or a start takes long. */
  warning?(fact: WarningFact): void
}

export interface DeliveryFact {
  readonly source: string
  readonly outcome: 'recorded' | 'duplicate' | 'mismatch' | 'unwanted' | 'handshake' | 'rejected' | 'shadowed'
  readonly status: number
  readonly code?: ErrorCode
  /** Why it was rejected, or what it lacked, for our own log: never sent to the sender. */
  readonly detail?: string
  readonly receiptId?: string
  readonly eventKey?: string
  readonly eventType?: string
  readonly objectId?: string | undefined
  readonly durationMs: number
}

export interface DiagnosisFact {
  readonly source: string
  readonly code: ErrorCode
  readonly diagnosis: string
}

export interface KeyFindingFact {
  readonly source: string
  readonly finding: string
  readonly says: string
}

export interface UnattendedFact {
  readonly source: string
  readonly subscriber: string
  readonly jobs: number
  /** When the last worker that served it ended, or when it was registered. */
  readonly since: Date
}

export interface AttemptFact {
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  readonly eventKey?: string | undefined
  readonly eventType?: string | undefined
  readonly objectId?: string | undefined
  readonly attempt: number
  /** `lost`: the outcome was refused, because the lease had gone to another worker. */
  readonly outcome:
    | 'processed'
    /** Processed, but all that the event told was known better. */
    | 'stale'
    | 'retrying'
    /** Not yet, says the handler, or another job is at the same effect: not a failure. */
    | 'deferred'
    | 'failed'
    /** Waits for a person: the outcome of an effect is unknown. */
    | 'attention'
    | 'returned'
    | 'lost'
  readonly durationMs: number
  readonly error?: unknown
}

export interface RescueFact {
  readonly receiptId: string
  readonly buried: boolean
  /**
   * It is in `attention`: its worker died with it too often, and the outcome of a call is unknown.
   */
  readonly needsPerson?: boolean
}

export interface MessageFact {
  readonly messageId: string
  readonly topic: string
  readonly key: string | null
  readonly attempt: number
  /**
   * `lost`: the outcome was refused, because the lease had gone to another relay; `crashed`: its
   * relay died.
   */
  readonly outcome: 'published' | 'retrying' | 'failed' | 'returned' | 'lost' | 'crashed'
  readonly durationMs: number
  readonly error?: unknown
}

export interface ChoreFact {
  readonly name: string
  readonly durationMs: number
  /** What it did, as counts by noun: `{ jobs: 3 }`. */
  readonly result: Readonly<Record<string, number>>
}

export interface TroubleFact {
  /** Log lines are limited by it: what differs from case to case does not belong here. */
  readonly doing: string
  readonly eventKey?: string
  readonly error: unknown
}

export interface WarningFact {
  readonly says: string
  /** With what to do. */
  readonly detail: string
}

/**
 * Tells every observer. One that throws is a bug of its own and must not become a lost delivery.
 */
export function observers(all: readonly Observer[]): Observer {
  return {
    delivery: (fact) => tell(all, (observer) => observer.delivery(fact)),
    diagnosis: (fact) => tell(all, (observer) => observer.diagnosis?.(fact)),
    keyFinding: (fact) => tell(all, (observer) => observer.keyFinding?.(fact)),
    unattended: (fact) => tell(all, (observer) => observer.unattended?.(fact)),
    attempt: (fact) => tell(all, (observer) => observer.attempt(fact)),
    rescue: (fact) => tell(all, (observer) => observer.rescue(fact)),
    message: (fact) => tell(all, (observer) => observer.message(fact)),
    chore: (fact) => tell(all, (observer) => observer.chore?.(fact)),
    trouble: (fact) => tell(all, (observer) => observer.trouble(fact)),
    warning: (fact) => tell(all, (observer) => observer.warning?.(fact)),
  }
}

function tell(all: readonly Observer[], say: (observer: Observer) => void): void {
  for (const observer of all) {
    try {
      say(observer)
    } catch (error) {
      limitedWarning('observer', `an observer of hookonce threw: ${String(error)}`)
    }
  }
}
