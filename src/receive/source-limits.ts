import { z } from 'zod'
import { parseRange } from '../http/addresses.ts'
import { strict } from '../input/checked.ts'

/** An IP address, or a range of them. */
export const addressRange = z
  .string()
  .refine((text) => parseRange(text) !== undefined, 'expected an IP address or a range: "192.0.2.0/24"')

/** Limits of one source, per process. */
export const sourceLimitFields = {
  /** Empty: no address may deliver. */
  allow: z.array(addressRange).max(10_000).optional().meta({
    description:
      'the IP addresses or ranges (`192.0.2.0/24`) that may deliver to this source; other addresses get 403. Behind a proxy, list the proxy in `trustedProxies`',
    defaultsTo: 'everyone',
  }),
  ratePerSecond: z
    .number()
    .positive()
    .optional()
    .describe(
      'deliveries with a valid signature per second and process; above it, deliveries get 429 with Retry-After. All deliveries of a second may arrive at the same moment. Forged deliveries do not count',
    ),
  maxBodyBytes: z.int().positive().optional().meta({
    description: 'rejects larger bodies of this source with 413',
    defaultsTo: '`limits.maxBodyBytes`',
  }),
}

/** For a program: some of its mounts do not know the address of the sender. */
export const sourceLimitsSchema = strict({
  ...sourceLimitFields,
  allow: sourceLimitFields.allow.meta({
    description: `${sourceLimitFields.allow.description}. With \`hooks.fetch()\` and \`hooks.next()\` no address is known, and every delivery is refused`,
    defaultsTo: 'everyone',
  }),
})
