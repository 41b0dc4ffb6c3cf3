import type { AlertMessage } from '../message.ts'

/** Sends one message to a channel. Throws if the channel did not accept it. */
export type SendAlert = (
  message: AlertMessage,
  call: {
    /** The id of the message. Every attempt to send it has the same id. */
    readonly id: string
    readonly signal: AbortSignal
  },
) => Promise<void>
