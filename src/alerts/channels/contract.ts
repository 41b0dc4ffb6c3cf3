import type { AlertMessage } from '../message.ts'

/** Sends one message to a channel. Throws if the channel did not accept it. */
export type SendAlert = (
  message: AlertMessage,
  call: {
    /** The same for every attempt. */
    readonly id: string
    readonly signal: AbortSignal
  },
) => Promise<void>
