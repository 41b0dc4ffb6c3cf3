/** A message of the outbox, as its publisher gets it. */
export interface Message {
  /** The same at every attempt: the receiver, or a broker, recognises repeats by it. */
  readonly id: string
  readonly topic: string
  readonly key: string | undefined
  readonly payload: unknown
  /** The payload as JSON, exactly as it was committed. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly tenant: string
  /** The receipt of the event whose handler published it. */
  readonly receiptId: string
  readonly createdAt: Date
  /** From 1. */
  readonly attempt: number
}

/**
 * Publishes a message. Returning means that it is handed over durably. Throwing means that it is
 * retried later, as for a handler: `RetryAfter` sets when, `Permanent` gives it up. Delivery is at
 * least once: if the process dies before the hand-over is recorded, the message is published again
 * under the same id.
 */
export type Publish = (message: Message, options: { readonly signal: AbortSignal }) => unknown
