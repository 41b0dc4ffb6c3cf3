import { z } from 'zod'
import { strict } from '../input/checked.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** What a receiver is willing to hold. Over any of these it refuses before it spends. */
export const limitsSchema = strict({
  /** Providers stay under 1 MiB, but for GitHub (25 MB) and bulk senders; raise it where yours does. */
  maxBodyBytes: z
    .int()
    .positive()
    .default(5 * MIB),
  /** Bodies being read and receipts waiting for their commit, together. */
  maxHeldBytes: z
    .int()
    .positive()
    .default(256 * MIB),
  /** Deliveries waiting for their commit: about a second's worth at full speed. */
  maxWaiting: z.int().positive().default(10_000),
  /** From the headers to the end of the body. The slowest provider gives up after 30 s. */
  bodyTimeoutMs: z.int().positive().default(15_000),
  /** What a sender is told to wait when we cannot accept. */
  retryAfterSeconds: z.int().positive().default(5),
})

export type Limits = z.output<typeof limitsSchema>
