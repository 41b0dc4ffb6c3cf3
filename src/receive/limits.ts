import { z } from 'zod'
import { bodyLimitFields, RETRY_AFTER_SECONDS } from '../delivery/limits.ts'
import { strict } from '../input/checked.ts'

/** What a receiver is willing to hold. Over any of these it refuses before it spends. */
export const limitsSchema = strict({
  ...bodyLimitFields,
  /** Deliveries waiting for their commit: about a second's worth at full speed. */
  maxWaiting: z.int().positive().default(10_000),
  /** The Retry-After of a 503. */
  retryAfterSeconds: z.int().positive().default(RETRY_AFTER_SECONDS),
})

export type Limits = z.output<typeof limitsSchema>
