import { z } from 'zod'

const MIB = 1024 * 1024
/** A timer of Node holds 31 bits of milliseconds. A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Limits on reading bodies: the options of every receiver. */
export const bodyLimitFields = {
  /** Providers stay under 1 MiB, except GitHub (25 MB) and bulk senders: raise it for those. */
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB)
    .describe('rejects larger bodies with 413'),
  /** Bodies being read and events being recorded or handled, together: beyond it, 503. */
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB)
    .describe('the total size of bodies that are being read or waiting; above it, deliveries get 503'),
  /** From the headers to the end of the body. The slowest provider gives up after 30 s. */
  bodyTimeoutMs: z
    .int()
    .positive()
    .max(MAX_TIMER_MS)
    .default(15_000)
    .describe('the time from the headers to the end of the body; a slower body gets 408'),
}

/** The Retry-After of a 503. */
export const RETRY_AFTER_SECONDS = 5
