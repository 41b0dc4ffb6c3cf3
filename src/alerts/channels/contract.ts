import type { AlertMessage } from '../message.ts'

/** Sends one message to a channel. Throws if the channel did not take it. */
export type SendAlert = (
  message: AlertMessage,
  call: {
    /** The same at every attempt. */
    readonly id: string
    readonly signal: AbortSignal
  },
) => Promise<void>
