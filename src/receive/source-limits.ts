import { z } from 'zod'
import { parseRange } from '../http/addresses.ts'
import { strict } from '../input/checked.ts'

/** An IP address, or a range of them. */
export const addressRange = z
  .string()
  .refine((text) => parseRange(text) !== undefined, 'expected an IP address or a range: "192.0.2.0/24"')

/** Limits of one source, per process. */
export const sourceLimitFields = {
  /** Only these addresses may deliver. Empty: no address may. */
  allow: z.array(addressRange).max(10_000).optional(),
  /** Genuine deliveries per second. All deliveries of a second may arrive at once. */
  ratePerSecond: z.number().positive().optional(),
  /** Replaces `limits.maxBodyBytes`. */
  maxBodyBytes: z.int().positive().optional(),
}

export const sourceLimitsSchema = strict(sourceLimitFields)
