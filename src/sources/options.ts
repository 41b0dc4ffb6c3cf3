import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { redactSchema } from './redact/rules.ts'

/**
 * The text of one secret, or where it is stored. Undefined is allowed, so `process.env.X` can be
 * passed directly.
 */
type OneSecret = string | undefined | { readonly env: string } | { readonly file: string }

/** The secrets as texts. */
export type ResolvedSecret = string | undefined | readonly (string | undefined)[]

/** The name of the source whose secrets a function must return. */
export interface SecretOwner {
  readonly provider: string
  readonly tenant: string
}

/**
 * One secret, or several during a rotation, or a function that fetches them. A function is called,
 * and a file read, again every minute.
 */
export type Secret =
  | OneSecret
  | readonly OneSecret[]
  | ((owner: SecretOwner) => ResolvedSecret | Promise<ResolvedSecret>)

const TOLERANCE = "expected a number of seconds above 0, or 'off' to accept any age"

export const optionsShape = {
  secret: z
    .custom<Secret>(
      isSecret,
      'expected a string, { env: name }, { file: path }, an array of those, or a function that returns strings',
    )
    .meta({
      description:
        "A text, or up to 8 texts during a rotation. Undefined is allowed, so `process.env.X` can be passed directly. If no secret is left, the source fails with `SECRET_MISSING`. Alternatives: `{ env: 'NAME' }`, `{ file: '/path' }`, or a function.",
      defaultsTo: 'required',
    }),
  url: z
    .url({ protocol: /^https?$/, error: 'must be the registered http or https URL' })
    .optional()
    .describe(
      'The URL as registered with the provider, for providers that sign it. Behind a proxy hookonce cannot know it. If it has no query, the query of each delivery is added.',
    ),
  settings: z
    .record(z.string(), z.string())
    .default({})
    .describe('Values besides the secret that a provider needs. Its page lists them.'),
  confirm: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      "Whether to follow the links with which a sender asks to confirm a subscription (Amazon SNS). Links are followed only to the sender's own hosts, and only after the signature is verified.",
    ),
  onSecret: z
    .custom<(secret: string) => void | Promise<void>>(
      (value) => typeof value === 'function',
      'expected a function',
    )
    .optional()
    .describe(
      'Receives the secret that a handshake contains (Asana), so that you can store and configure it. Without it, such a handshake is rejected.',
    ),
  keyNames: z
    .array(z.string().min(1).max(2_000))
    .max(16)
    .default([])
    .describe(
      'For providers whose deliveries name the key to fetch: certificates (by address) or keys (by id) that are always fetched. See "Fetched keys" below.',
    ),
  toleranceSeconds: z
    .union([z.number().positive(TOLERANCE), z.literal('off')], { error: TOLERANCE })
    .optional()
    .meta({
      description:
        "The largest allowed difference between the signed date and the arrival, in both directions. `'off'` accepts any age. A number is rejected if the provider signs no date (GitHub, Shopify, Lemon Squeezy), because it could not take effect.",
      defaultsTo: '300, if the provider signs a date',
    }),
  tenant: z.string().min(1).max(255).default('default').describe('The owner of this source.'),
  unwanted: z
    .enum(['ignore', 'record'])
    .default('ignore')
    .describe(
      "How to treat event types without a subscriber: `'ignore'` responds 200 and counts them, `'record'` also records them. A delivery whose key or type cannot be read is always recorded.",
    ),
  refusedStatus: z.int().min(400).max(499).optional().meta({
    description:
      'The status for a bad signature. Mailgun never retries after 406: set it only when you know that the secret is right.',
    defaultsTo: "the provider's, usually 401",
  }),
  /** See contract.ts. */
  mode: z
    .enum(['enforce', 'shadow'])
    .default('enforce')
    .describe("`'shadow'`: [verify and report, do not reject](#shadow-mode)."),
  redact: redactSchema.describe(
    'Values that are not stored: `$.customer.email`, `$.items[*].card`, `$.**.email`, `form:email`, `header:x-user`. With a rule for the body, headers that are computed from it (signatures, digests, `content-length`) are not stored either. [Rules and limits](../privacy.md#leave-values-out).',
  ),
  mismatch: z
    .enum(['keep-first', 'reject'])
    .default('keep-first')
    .describe(
      "How to treat a different body under a known key: hookonce keeps the first body and responds 200, or rejects the delivery with 409 (`'reject'`).",
    ),
}

export const optionsSchema = strict(optionsShape)

/** The options that every source accepts. */
export type SourceOptions = z.input<typeof optionsSchema>

export type CheckedOptions = z.output<typeof optionsSchema>

export function checkOptions(options: SourceOptions, provider: string): CheckedOptions {
  // A missing secret is treated like an empty one.
  return check(optionsSchema, Object.assign({ secret: undefined }, options), provider)
}

export type SecretReader = () => ResolvedSecret | Promise<ResolvedSecret>

/**
 * Returns the secrets if they cannot change, otherwise a function to read them. Files are read once
 * here, so that a wrong path fails immediately.
 */
export function secretOf(
  secret: Secret,
  owner: SecretOwner,
): { readonly fixed: ResolvedSecret } | { readonly read: SecretReader } {
  if (typeof secret === 'function') return { read: () => secret(owner) }
  const listed: readonly OneSecret[] = Array.isArray(secret) ? secret : [secret]
  const read = (): ResolvedSecret => listed.map((one) => textOf(one, owner.provider))
  const fixed = read()
  return listed.some((one) => typeof one === 'object' && 'file' in one) ? { read } : { fixed }
}

function textOf(one: OneSecret, provider: string): string | undefined {
  if (typeof one !== 'object') return one
  if ('env' in one) {
    const value = process.env[one.env]
    if (value) return value
    throw new HookonceError(
      'SECRET_MISSING',
      `${provider}: secret: the environment variable ${one.env} is not set`,
    )
  }
  try {
    return readFileSync(one.file, 'utf8').trim()
  } catch (error) {
    throw new HookonceError('SECRET_MISSING', `${provider}: secret: ${one.file} cannot be read`, {
      cause: error,
    })
  }
}

/** A secret with its position in the configured list, from 1. */
export interface PlacedSecret {
  readonly text: string
  readonly position: number
}

// A delivery that matches no secret costs one HMAC per secret. Eight limits the work that a
// stranger can cause, and is more than any rotation needs.
const MAX_SECRETS = 8

/** The secrets that are not empty. */
export function placedSecrets(secret: ResolvedSecret, provider: string): PlacedSecret[] {
  const listed = Array.isArray(secret) ? secret : [secret]
  const placed = listed.flatMap((text: string | undefined, index) =>
    text === undefined || text.trim() === '' ? [] : [{ text, position: index + 1 }],
  )
  if (placed.length === 0) {
    throw new HookonceError(
      'SECRET_MISSING',
      `${provider}: the option \`secret\` is empty; is its environment variable set?`,
    )
  }
  if (placed.length > MAX_SECRETS) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret: at most ${MAX_SECRETS} secrets are allowed`,
    )
  }
  // A trailing line break from a secrets file would otherwise appear only as SIGNATURE_MISMATCH.
  const padded = placed.find(({ text }) => text !== text.trim() && !text.startsWith('-----BEGIN'))
  if (padded !== undefined) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret ${padded.position} begins or ends with whitespace; remove it`,
    )
  }
  return placed
}

export function isSecret(value: unknown): boolean {
  if (typeof value === 'function') return true
  return Array.isArray(value) ? value.every(isOneSecret) : isOneSecret(value)
}

function isOneSecret(value: unknown): boolean {
  if (value === undefined || typeof value === 'string') return true
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return false
  return [Reflect.get(value, 'env'), Reflect.get(value, 'file')].some((name) => typeof name === 'string')
}
