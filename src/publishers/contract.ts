/** A message of the outbox, as its publisher gets it. */
export interface Message {
  /** The same at every attempt: what the receiver, or what is in between, tells repeats by. */
  readonly id: string
  readonly topic: string
  readonly key: string | undefined
  readonly payload: unknown
  /** The payload as JSON, to the letter as it was committed. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly tenant: string
  /** The receipt of the event that it came of. */
  readonly receiptId: string
  readonly createdAt: Date
  /** From 1. */
  readonly attempt: number
}

/**
 * Carries a message on. To return is to have handed it over durably; to throw is to be asked again later, with the
 * same message, as with a handler: `RetryAfter` says when, `Permanent` never. At least once: a process that dies
 * after the hand-over and before its record makes the message come again, under the same id.
 */
export type Publish = (message: Message, options: { readonly signal: AbortSignal }) => unknown
