import type { Version } from './version.ts'

/** What a handler is given: one event, whoever delivered it and however often. */
export interface Event<Payload = unknown, Subject = unknown, Type extends string = string> {
  /** The stable id of the receipt: the same on every attempt and replay. */
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  /** The provider's identity of the event. */
  readonly key: string
  readonly type: Type
  readonly objectId: string | undefined
  readonly occurredAt: Date | undefined
  readonly receivedAt: Date
  /** Which of two events about one object is newer, as far as the provider tells; for ctx.latest. */
  readonly version: Version | undefined
  /** The parsed body. */
  readonly payload: Payload
  /** The part of the payload that the event speaks of (Stripe: `data.object`). */
  readonly object: Subject
  /** The body as it was delivered, byte for byte. */
  readonly body: Uint8Array
  /** The headers as they were delivered, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}
