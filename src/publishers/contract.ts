/** A message of the outbox, for its publisher. */
export interface Message {
  /** The same id at every attempt: receivers and brokers recognise repeats by it. */
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
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

/**
 * Publishes a message. Returning means that it was handed over durably. Throwing means that it is
 * retried later, as for a handler: `RetryAfter` sets the delay, `Permanent` fails the message.
 * Delivery is at least once: if the process dies before the hand-over is recorded, the message is
 * published again under the same id.
 */
export type Publish = (message: Message, options: { readonly signal: AbortSignal }) => unknown
