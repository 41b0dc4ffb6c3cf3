import { z } from 'zod'

export const positive = z.number().positive()
/** A timer of Node holds 31 bits of milliseconds (24 days). A longer one would fire at once. */
export const timerMs = positive.max(2 ** 31 - 1)

/** How often and for how long a job or a message is retried; work/retry.ts applies them. */
export const retryFields = {
  /** The ledger stores the number of attempts in 15 bits. */
  maxAttempts: z.int().positive().max(32_000),
  maxAgeMs: positive,
  baseDelayMs: positive,
  maxDelayMs: positive,
  /** The delay before each retry, in place of delays that double. The last one repeats. */
  scheduleMs: z.array(timerMs).min(1).max(100),
}
