import { z } from 'zod'
import { bodyLimitFields, RETRY_AFTER_SECONDS } from '../delivery/limits.ts'
import { strict } from '../input/checked.ts'

/** The limits of a receiver. Above any of them it refuses a delivery before any work on it. */
export const limitsSchema = strict({
  ...bodyLimitFields,
  /** Deliveries waiting for their commit: about one second at full speed. */
  maxWaiting: z
    .int()
    .positive()
    .default(10_000)
    .describe('the number of deliveries that wait for their commit; above it, deliveries get 503'),
  retryAfterSeconds: z.int().positive().default(RETRY_AFTER_SECONDS).describe('the Retry-After of a 503'),
})

export type Limits = z.output<typeof limitsSchema>
