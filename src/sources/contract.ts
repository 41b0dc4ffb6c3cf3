import type { ErrorCode } from '../model/errors.ts'
import type { Version } from '../model/version.ts'

/**
 * One received HTTP request, in the form that sources read. The body stays bytes until it is
 * verified.
 */
export interface Delivery {
  readonly method: string
  /** Path and query as received. */
  readonly url: string
  /** The value of a header by its lower-case name. Repeated headers are joined with `, `. */
  header(name: string): string | undefined
  readonly body: Uint8Array
  /**
   * The time of arrival, in milliseconds since 1970. The age of a signature is checked once,
   * against this time.
   */
  readonly receivedAtMs: number
}

/**
 * The reason why a delivery is rejected. `detail` is for the log of hookonce, never for the sender.
 */
export interface Refusal {
  readonly ok: false
  readonly code: ErrorCode
  readonly detail: string
  /** The header that caused the rejection. */
  readonly header?: string
}

export interface Verified {
  readonly ok: true
  /**
   * The position of the matching secret, from 1. A rotation is complete when the old secret no
   * longer matches.
   */
  readonly secret: number
}

/**
 * A documented field that is missing from a delivery. `detail` is for the log of hookonce and
 * contains nothing of the body.
 */
export interface Unread {
  readonly code: 'EVENT_KEY_MISSING' | 'EVENT_KEY_TOO_LONG' | 'EVENT_TYPE_MISSING' | 'EVENT_TYPE_TOO_LONG'
  readonly detail: string
}

/** The identity of the event, read from a verified delivery. */
export interface Identified<Payload = unknown, Subject = unknown> {
  readonly ok: true
  /** The provider's stable identity of the event. */
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  /** The version of the object, if the sender provides a better one than the date of the event. */
  readonly version: Version | undefined
  /**
   * A documented field that this delivery lacks. The key is then derived from the content, and the
   * event is recorded whether or not a subscriber wants its type.
   */
  readonly unread?: Unread | undefined
  /** The parsed body. */
  readonly payload: Payload
  /** The part of the payload that the event is about (Stripe: `data.object`). */
  readonly object: Subject
}

/** The answer to a handshake. Handshakes are not recorded in the ledger. */
export interface HandshakeAnswer {
  readonly ok: true
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Must run before the answer is sent: confirms a subscription, or passes on a secret. */
  perform?(): Promise<Refusal | undefined>
}

/** Removes values from a verified and identified delivery before it is stored. */
export interface Redaction {
  /** The body to store. A body to which the rules cannot be applied is replaced as a whole. */
  body(delivery: Delivery): Uint8Array
  /** Whether the id of the event's object is hidden: it is not stored then. */
  readonly hidesObjectId: boolean
  /** Whether a marker is stored instead of the value of this header. */
  hidesHeader(name: string): boolean
}

/** A source with the name under which it is configured. */
export interface NamedSource {
  readonly name: string
  readonly source: Source
}

/**
 * One configured sender: a provider's description bound to secrets.
 *
 * `handshake`, `verify`, `split` and `identify` are pure: they use no clock and no network, never
 * throw, and run in time linear in the size of the delivery.
 */
export interface Source<
  Payload = unknown,
  Subject = unknown,
  Type extends string = string,
  Shapes = unknown,
> {
  readonly provider: string
  readonly tenant: string
  /** The status for a recorded delivery: 202, or 200 if the provider requires it. */
  readonly acceptedStatus: number
  /**
   * The body of the answer to a genuine delivery, if the provider requires one instead of the
   * receipt's id.
   */
  readonly acceptedBody?: string | undefined
  readonly acceptedHeaders?: Readonly<Record<string, string>> | undefined
  /**
   * The status for a bad signature: 401, or the status that the provider or the options specify.
   */
  readonly refusedStatus: number
  /** How long the provider retries. Keys must be kept longer than this. */
  readonly retryWindowMs: number
  /**
   * The handling of event types without a subscriber: they are answered with 200 and counted, or
   * also recorded.
   */
  readonly unwanted: 'ignore' | 'record'
  /**
   * The handling of a different body under a known key. The first body stays and the delivery is
   * answered with 200, or the delivery is rejected with 409.
   */
  readonly mismatch: 'keep-first' | 'reject'
  /**
   * 'shadow': a delivery that cannot be verified is reported and answered like an unwanted one,
   * instead of rejected. It is never recorded or processed, because under a genuine event's key it
   * would block that event.
   */
  readonly mode?: 'enforce' | 'shadow'
  /**
   * The header that the receiver must set to a unique id, if the sender's events cannot be
   * distinguished.
   */
  readonly stampHeader?: string
  /** Whether every event needs that header, or only some. */
  readonly needsStamp?: boolean
  /**
   * Whether a header contains the secret. Such a header is not recorded and not passed to handlers
   * and destinations.
   */
  withholds?(name: string, value: string): boolean
  /**
   * Applies the rules of `redact`. Undefined if there are none. Handlers and destinations get the
   * event as it is stored.
   */
  readonly redaction?: Redaction
  /** The methods of its handshakes besides POST. */
  readonly handshakeMethods?: readonly string[]
  /**
   * Fetches the certificates, or the secrets from a function or file, that this delivery needs.
   * Returns undefined if nothing is missing. Absent on sources that never need it.
   */
  prepare?(delivery: Delivery): Promise<Refusal | undefined> | undefined
  /** The answer if this request is a handshake. Undefined for a delivery. */
  handshake?(delivery: Delivery): HandshakeAnswer | Refusal | undefined
  verify(delivery: Delivery): Verified | Refusal
  /**
   * Splits a verified batch into deliveries of one event each. Absent on sources without batches.
   */
  split?(delivery: Delivery): readonly Delivery[] | Refusal
  /** Whether any delivery may contain several events, or only those of some products. */
  readonly alwaysBatches?: boolean
  identify(delivery: Delivery): Identified<Payload, Subject> | Refusal
  /**
   * Explains in one sentence why this delivery was rejected, for the log of hookonce. The sentence
   * contains no secret and nothing of the body. The work is bounded, but many times that of
   * verifying. Also tries the secrets of the other sources.
   */
  diagnose?(delivery: Delivery, refusal: Refusal, others?: readonly NamedSource[]): string
  /**
   * Every event type that the provider documents, or patterns of them. Absent if the types are
   * unknown. A subscriber to any other type causes a warning.
   */
  readonly eventTypes?: readonly string[]
  /**
   * Carries the types of this source to its handlers. Has no value at run time. `shapes` has an
   * `EventShape` for each event type whose payload is known.
   */
  readonly types?: {
    readonly payload: Payload
    readonly object: Subject
    readonly type: Type
    readonly shapes: Shapes
  }
}
