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
  secret: z.custom<Secret>(
    isSecret,
    'expected a string, { env: name }, { file: path }, an array of those, or a function that returns strings',
  ),
  /**
   * The largest allowed difference between the signed time and the arrival, in both directions.
   * 'off' accepts any age.
   */
  toleranceSeconds: z
    .union([z.number().positive(TOLERANCE), z.literal('off')], { error: TOLERANCE })
    .optional(),
  tenant: z.string().min(1).max(255).default('default'),
  unwanted: z.enum(['ignore', 'record']).default('ignore'),
  mismatch: z.enum(['keep-first', 'reject']).default('keep-first'),
  /**
   * Overrides the provider's status for a bad signature. Example: Mailgun never retries after 406.
   */
  refusedStatus: z.int().min(400).max(499).optional(),
  /**
   * 'shadow': a delivery that cannot be verified is reported and acknowledged, but not processed.
   * See contract.ts.
   */
  mode: z.enum(['enforce', 'shadow']).default('enforce'),
  /** Values that are not stored: paths into the body, fields of forms, names of headers. */
  redact: redactSchema,
  /** The URL as registered with the provider, for providers that sign it. */
  url: z.url({ protocol: /^https?$/, error: 'must be the registered http or https URL' }).optional(),
  /** Values besides the secret that a provider needs. Each provider names its own. */
  settings: z.record(z.string(), z.string()).default({}),
  /**
   * Names of the provider's certificates or keys, as its deliveries spell them. These are always
   * fetched.
   */
  keyNames: z.array(z.string().min(1).max(2_000)).max(16).default([]),
  /** Whether to follow the links by which a sender confirms a subscription. */
  confirm: z.enum(['on', 'off']).default('off'),
  /**
   * Receives the secret of a handshake, so that you can store and configure it. Without it, such a
   * handshake is rejected.
   */
  onSecret: z
    .custom<(secret: string) => void | Promise<void>>(
      (value) => typeof value === 'function',
      'expected a function',
    )
    .optional(),
}

const optionsSchema = strict(optionsShape)

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
