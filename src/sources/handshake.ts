import { z } from 'zod'
import { strict } from '../input/checked.ts'
import { checkTemplate, headerName, requestLocator } from './places.ts'

/*
 * Handshakes: requests by which a provider checks whether this URL is ready for its deliveries.
 * They are answered and not recorded in the ledger.
 */

const template = z.string().superRefine((text, context) => checkTemplate(text, ['url'], context))

/** A value that only the holder of the secret can compute. */
const computed = strict({
  algorithm: z.enum(['hmac-sha1', 'hmac-sha256', 'sha256']),
  of: template,
  encoding: z.enum(['hex', 'base64']),
  prefix: z.string().default(''),
})

const value = z.union([template, computed])

const handshake = strict({
  method: z.enum(['GET', 'HEAD', 'POST']),
  /** Places and their required values. `true`: any text, `false`: absent. */
  when: z.record(requestLocator, z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** Whether the signature must be valid before the handshake is answered. */
  signed: z.boolean(),
  /** The place of a shared token, which must equal the setting `verifyToken`. */
  token: requestLocator.optional(),
  /** The place of a secret for later deliveries. It is passed to the option `onSecret`. */
  secret: requestLocator.optional(),
  reply: strict({
    status: z.int().min(200).max(299).default(200),
    headers: z.record(headerName, template).default({}),
    text: template.optional(),
    json: z.record(z.string(), z.union([value, z.number()])).optional(),
  }).prefault({}),
})

export const handshakes = z.array(handshake).min(1)

export type Handshake = z.output<typeof handshake>
export type HandshakeValue = z.output<typeof value>
