import type { ErrorCode } from '../model/errors.ts'
import type { Version } from '../model/version.ts'

/** One HTTP request that reached us, as a source sees it. Bytes until verified. */
export interface Delivery {
  readonly method: string
  /** Path and query as received. */
  readonly url: string
  /** The value of a header by its lower-case name; repeated headers are joined by `, `. */
  header(name: string): string | undefined
  readonly body: Uint8Array
  /** Arrival in epoch milliseconds: signature tolerance is judged once, against this. */
  readonly receivedAtMs: number
}

/** Why a delivery is refused. `detail` is for our own log, never for the sender. */
export interface Refusal {
  readonly ok: false
  readonly code: ErrorCode
  readonly detail: string
}

export interface Verified {
  readonly ok: true
  /**
   * Which of the configured secrets matched, by position from 1: rotation is done when the old one
   * falls silent.
   */
  readonly secret: number
}

/** `detail` is for our own log, and names nothing of the body. */
export interface Unread {
  readonly code: 'EVENT_KEY_MISSING' | 'EVENT_TYPE_MISSING'
  readonly detail: string
}

/** Who the event is, read from a verified delivery. */
export interface Identified<Payload = unknown, Subject = unknown> {
  readonly ok: true
  /** The provider's stable identity of the event. */
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  /** Of the object, where the sender has a better one than the date of the event. */
  readonly version: Version | undefined
  /**
   * What the provider documents and this delivery lacks. Its key is then made of what it does hold,
   * and it is recorded whether or not a subscriber wants its type.
   */
  readonly unread?: Unread | undefined
  /** The parsed body. */
  readonly payload: Payload
  /** The part of the payload that the event speaks of (Stripe: `data.object`). */
  readonly object: Subject
}

/** The answer to a handshake: it leaves nothing in the ledger. */
export interface HandshakeAnswer {
  readonly ok: true
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What must be done before it is answered: confirm a subscription, hand over a secret. */
  perform?(): Promise<Refusal | undefined>
}

/** A source with the name it has where it is configured. */
export interface NamedSource {
  readonly name: string
  readonly source: Source
}

/**
 * One configured sender: a provider's description bound to secrets.
 *
 * `handshake`, `verify`, `split` and `identify` are pure: no clock, no network, no exception for
 * any input, and their time is linear in the size of the delivery.
 */
export interface Source<Payload = unknown, Subject = unknown, Type extends string = string> {
  readonly provider: string
  readonly tenant: string
  /**
   * The status of the answer to a recorded delivery: 202, or 200 where the provider wants exactly
   * that.
   */
  readonly acceptedStatus: number
  /**
   * What the answer to a genuine delivery says instead of the receipt's id, where the provider
   * wants that.
   */
  readonly acceptedBody?: string | undefined
  readonly acceptedHeaders?: Readonly<Record<string, string>> | undefined
  /** The status for a bad signature: 401, or what the provider or the options want instead. */
  readonly refusedStatus: number
  /** How long the provider goes on retrying: keys must be kept longer than this. */
  readonly retryWindowMs: number
  /** Event types that matched no subscriber: answered 200 and only counted, or recorded too. */
  readonly unwanted: 'ignore' | 'record'
  /**
   * Another body under a known key: the first one stands and the delivery is answered 200, or it is
   * refused 409.
   */
  readonly mismatch: 'keep-first' | 'reject'
  /**
   * 'shadow': a delivery that cannot be verified is reported and answered as one that nobody wants,
   * instead of refused. It is never recorded nor processed: under the key of a genuine event it
   * would stand in that one's way.
   */
  readonly mode?: 'enforce' | 'shadow'
  /**
   * The header that the receiver must stamp with an id of its own, where the sender tells no two
   * events apart.
   */
  readonly stampHeader?: string
  /** Whether that holds for every event, and not only for some. */
  readonly needsStamp?: boolean
  /**
   * Whether a header holds the secret itself: it is neither recorded nor given to handlers and
   * destinations.
   */
  withholds?(name: string, value: string): boolean
  /** Methods of its handshakes besides POST. */
  readonly handshakeMethods?: readonly string[]
  /**
   * Fetches what verifying this delivery takes and is not at hand: secrets of a function or file,
   * certificates. Nothing is returned when all is there. Only a source that needs it has this.
   */
  prepare?(delivery: Delivery): Promise<Refusal | undefined> | undefined
  /** The answer, where this is a handshake and no delivery. */
  handshake?(delivery: Delivery): HandshakeAnswer | Refusal | undefined
  verify(delivery: Delivery): Verified | Refusal
  /**
   * The deliveries of one event each that a verified batch amounts to. Only a source of batches has
   * this.
   */
  split?(delivery: Delivery): readonly Delivery[] | Refusal
  /** Whether any delivery may hold several events, or only those of some of its products. */
  readonly alwaysBatches?: boolean
  identify(delivery: Delivery): Identified<Payload, Subject> | Refusal
  /**
   * Why it refused this delivery, in a sentence for our own log: it names no secret and nothing of
   * the body. Bounded work, but many times that of verifying. The secrets of the other sources are
   * tried, too.
   */
  diagnose?(delivery: Delivery, refusal: Refusal, others?: readonly NamedSource[]): string
  /** Carries the types of this source to its handlers; has no value at run time. */
  readonly types?: { readonly payload: Payload; readonly object: Subject; readonly type: Type }
}
