import type { Version } from './version.ts'

/** The event that a handler gets: the same for any number of deliveries. */
export interface Event<Payload = unknown, Subject = unknown, Type extends string = string> {
  /** The id of the receipt. Every attempt and replay has the same id. */
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  /** The provider's identity of the event. */
  readonly key: string
  readonly type: Type
  readonly objectId: string | undefined
  readonly occurredAt: Date | undefined
  readonly receivedAt: Date
  /** The version of the event's object, if the provider sends one; for ctx.latest. */
  readonly version: Version | undefined
  /** The parsed body. */
  readonly payload: Payload
  /** The object in the payload that the event is about (Stripe: `data.object`). */
  readonly object: Subject
  /** The body as it was delivered, byte for byte. */
  readonly body: Uint8Array
  /** The headers as they were delivered, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}
