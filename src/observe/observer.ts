import type { ErrorCode } from '../model/errors.ts'
import { limitedWarnings } from './limited-warning.ts'
import { type InSpan, inSpansOf, type Span, type SpanEnd, type SpanObserver } from './span.ts'
import { type TraceContext, traceContextOf } from './trace-context.ts'

/**
 * The facts that can be observed. Facts carry names and ids, never a secret or a body. Every member
 * is called at once, in the process where the fact happened; keep it short. An observer that
 * throws, or returns a promise that rejects, is reported as a process warning and affects nothing
 * else.
 */
export interface CustomObserver {
  /** A delivery was answered. */
  delivery?(fact: DeliveryFact): void
  /** A refused delivery was diagnosed. It was already reported as a delivery. */
  diagnosis?(fact: DiagnosisFact): void
  /** The event key of a source looks wrong: it repeats too rarely, or too often. */
  keyFinding?(fact: KeyFindingFact): void
  /** Jobs wait for a subscriber that no worker serves. */
  unattended?(fact: UnattendedFact): void
  /** An alert was opened or resolved by this process. */
  alert?(fact: AlertFact): void
  /** One run of a job ended, and its outcome was committed or refused. */
  attempt?(fact: AttemptFact): void
  /** This run has recorded that it is about to make a call. Not reported if no call is made. */
  effectStarted?(fact: EffectFact): void
  /** An effect that a handler requested ended, with or without a call. */
  effectEnded?(fact: EffectEndFact): void
  /** A job was taken back from a worker that died. */
  rescue?(fact: RescueFact): void
  /** One attempt to publish a message ended, or its relay died. */
  message?(fact: MessageFact): void
  /** This process has opened, probed or closed the circuit of its subscribers. */
  circuit?(fact: CircuitFact): void
  /** The lease of this process's worker or relay was renewed late, was lost, or was taken over. */
  lease?(fact: LeaseFact): void
  /** A periodic chore of upkeep ended. */
  chore?(fact: ChoreFact): void
  /** A failure that belongs to no delivery, attempt or message. */
  trouble?(fact: TroubleFact): void
  /** A setup that works now but will cause harm. Reported once. */
  warning?(fact: WarningFact): void
  /**
   * Opens a span around `run`, which it must call before it returns. `run` resolves when the work
   * has ended, and never rejects. Facts of the work are reported inside its span.
   */
  span?(span: Span, run: () => Promise<SpanEnd>): unknown
  /**
   * The W3C trace context of the current span. Called in the span of a delivery, and recorded with
   * its receipt; called again when a handler publishes, and recorded with the message. Log lines
   * and exemplars name its trace id.
   */
  traceparent?(): string | undefined
  /** The `tracestate` of the `traceparent` that was returned just before. */
  tracestate?(): string | undefined
}

/** An absent member may also be set to undefined. */
type AnyObserver = { readonly [Member in keyof CustomObserver]: CustomObserver[Member] | undefined }

type FactKind = Exclude<keyof CustomObserver, 'span' | 'traceparent' | 'tracestate'>
type FactOf<Kind extends FactKind> = Parameters<NonNullable<CustomObserver[Kind]>>[0]
type Reports = { readonly [Kind in FactKind]: (fact: FactOf<Kind>) => void }
type CommonKind = 'delivery' | 'attempt' | 'rescue' | 'message' | 'trouble'

/**
 * All observers of one engine, in the form that the stages use: stages report only here. Members
 * that no observer has are undefined, so nothing is prepared for them.
 */
export interface Observer extends Pick<Reports, CommonKind>, OtherReports {
  readonly inSpan?: InSpan | undefined
  readonly traceContext?: (() => TraceContext | undefined) | undefined
}

type OtherReports = { readonly [Kind in Exclude<FactKind, CommonKind>]?: Reports[Kind] | undefined }

export interface DeliveryFact {
  readonly source: string
  readonly outcome: 'recorded' | 'duplicate' | 'mismatch' | 'unwanted' | 'handshake' | 'rejected' | 'shadowed'
  readonly status: number
  readonly code?: ErrorCode
  /**
   * The reason of a rejection, or the missing part of an event. For logs only: it is never sent to
   * the sender.
   */
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

export interface AlertFact {
  readonly id: string
  readonly rule: string
  readonly source: string
  /** Empty if the alert is about a source. */
  readonly subscriber: string
  readonly says: string
  /** `reopened`: it was resolved a short time ago. */
  readonly became: 'opened' | 'reopened' | 'resolved'
}

export interface AttemptFact {
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  readonly eventKey?: string | undefined
  readonly eventType?: string | undefined
  readonly objectId?: string | undefined
  readonly attempt: number
  /** `lost`: the outcome was refused, because another worker has taken over the job. */
  readonly outcome:
    | 'processed'
    /** Processed, but the event carried only outdated data. */
    | 'stale'
    | 'retrying'
    /** Postponed by the handler, or another job is running the same effect: not a failure. */
    | 'deferred'
    | 'failed'
    /** Waits for a person: the outcome of an effect is unknown. */
    | 'attention'
    | 'returned'
    | 'lost'
  /** The duration of the handler. */
  readonly durationMs: number
  /** The time from the arrival of the event to the end of the handler. */
  readonly ageMs: number
  readonly error?: unknown
}

export interface EffectFact {
  readonly source: string
  readonly subscriber: string
  readonly receiptId: string
  /** The business key. */
  readonly key: string
  /** `tx`: an effect inside a transaction, which commits or rolls back with it. */
  readonly mode: 'tx' | 'keyed' | 'atMostOnce' | 'atLeastOnce'
}

export interface EffectEndFact extends EffectFact {
  readonly outcome: /** It happened, and its result was recorded. */
    | 'done'
    /** The effect had happened before. The recorded result was returned, without a call. */
    | 'recorded'
    /** The effect did not happen. */
    | 'failed'
    /** The call threw, and the effect may have happened. The next run decides by the mode. */
    | 'open'
    /** The job waits for an operator: hookonce cannot know whether it happened. */
    | 'unknown'
    /** Another job is running the same effect, so this job waits. */
    | 'busy'
    /** No call was made: the lease was lost, or the key was used with another input. */
    | 'refused'
  readonly durationMs: number
  readonly error?: unknown
}

export interface LeaseFact {
  /** The id of the worker or relay in the ledger. */
  readonly worker: number
  readonly outcome: /** A heartbeat failed or was late, and the next one came in time. */
    | 'late'
    /** No heartbeat was answered in time: work in flight is aborted. */
    | 'lost'
    /** Another process has declared this worker dead and taken its work. */
    | 'takenOver'
  /** The time since the last answered heartbeat. */
  readonly silentMs: number
}

export interface CircuitFact {
  /** The name of the limiter; without one: tenant, source and subscriber. */
  readonly limiter: string
  /** The subscribers in this process that the circuit holds or releases. */
  readonly subscribers: readonly { readonly source: string; readonly subscriber: string }[]
  /** `half-open`: a job runs as a probe, or the next one will. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** Whether the circuit was closed before: the change has opened it. */
  readonly wasClosed: boolean
  /** The reason why the circuit opened, or why a probe failed. */
  readonly reason?: string
}

export interface ChoreFact {
  readonly name: string
  readonly durationMs: number
  /** The result as counts by noun: `{ jobs: 3 }`. Undefined if it failed. */
  readonly result?: Readonly<Record<string, number>>
  /** The reason of a failure. Also reported to `trouble`. */
  readonly error?: unknown
}

export interface RescueFact {
  readonly receiptId: string
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly eventKey?: string | undefined
  readonly eventType?: string | undefined
  readonly objectId?: string | undefined
  /** The attempt that the worker did not finish. */
  readonly attempt?: number
  readonly buried: boolean
  /**
   * The job is in `attention`: its workers died too often, and the outcome of a call is unknown.
   */
  readonly needsPerson?: boolean
}

export interface MessageFact {
  readonly messageId: string
  readonly topic: string
  readonly key: string | null
  /** The receipt of the event whose handler published it. */
  readonly receiptId?: string
  /** The id of the trace in its headers. */
  readonly traceId?: string | undefined
  readonly attempt: number
  /**
   * `lost`: the outcome was refused, because another relay has taken over the lane. `crashed`: its
   * relay died.
   */
  readonly outcome: 'published' | 'retrying' | 'failed' | 'returned' | 'lost' | 'crashed'
  readonly durationMs: number
  readonly error?: unknown
}

export interface TroubleFact {
  /** Log lines are limited by this text, so it must not contain ids or other varying parts. */
  readonly doing: string
  readonly eventKey?: string
  readonly error: unknown
}

export interface WarningFact {
  readonly message: string
  /** The text includes the advice. */
  readonly detail: string
}

const MEMBERS: Readonly<Record<keyof CustomObserver, true>> = {
  delivery: true,
  diagnosis: true,
  keyFinding: true,
  unattended: true,
  alert: true,
  attempt: true,
  effectStarted: true,
  effectEnded: true,
  rescue: true,
  message: true,
  circuit: true,
  lease: true,
  chore: true,
  trouble: true,
  warning: true,
  span: true,
  traceparent: true,
  tracestate: true,
}
export const observerMembers: readonly string[] = Object.keys(MEMBERS)

/** Reports to every observer. A fault of an observer must not lose a delivery. */
export function observers(all: readonly AnyObserver[]): Observer {
  const warn = limitedWarnings()

  function reportTo<Kind extends FactKind>(kind: Kind): (fact: FactOf<Kind>) => void {
    // The member of a kind receives the facts of that kind. Members are bound once: a lookup by
    // name for every fact would be slower.
    const members = all
      .filter((observer): observer is Reports => observer[kind] !== undefined)
      .map((observer) => observer[kind].bind(observer))
    const onFault = faultOf(kind)
    return (fact) => {
      for (const member of members) {
        try {
          const returned: unknown = member(fact)
          if (returned instanceof Promise) returned.catch(onFault)
        } catch (error) {
          onFault(error)
        }
      }
    }
  }

  function ifObserved<Kind extends FactKind>(kind: Kind): ((fact: FactOf<Kind>) => void) | undefined {
    return all.some((observer) => observer[kind] !== undefined) ? reportTo(kind) : undefined
  }

  function faultOf(member: keyof CustomObserver): (error: unknown) => void {
    return (error) => warn(member, `${member}() of an observer of hookonce threw: ${String(error)}`)
  }

  return {
    delivery: reportTo('delivery'),
    attempt: reportTo('attempt'),
    rescue: reportTo('rescue'),
    message: reportTo('message'),
    trouble: reportTo('trouble'),
    diagnosis: ifObserved('diagnosis'),
    keyFinding: ifObserved('keyFinding'),
    unattended: ifObserved('unattended'),
    alert: ifObserved('alert'),
    effectStarted: ifObserved('effectStarted'),
    effectEnded: ifObserved('effectEnded'),
    circuit: ifObserved('circuit'),
    lease: ifObserved('lease'),
    chore: ifObserved('chore'),
    warning: ifObserved('warning'),
    inSpan: spansOf(all, faultOf('span')),
    traceContext: traceContextOf(all, faultOf('traceparent')),
  }
}

type OnFault = (error: unknown) => void

function spansOf(all: readonly AnyObserver[], onFault: OnFault): InSpan | undefined {
  const tracers = all.filter(
    (observer): observer is AnyObserver & SpanObserver => observer.span !== undefined,
  )
  return tracers.length === 0 ? undefined : inSpansOf(tracers, onFault)
}
