import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'

/**
 * The text of one secret, or where it is kept. What `process.env` does not hold may be passed on as
 * it is.
 */
type OneSecret = string | undefined | { readonly env: string } | { readonly file: string }

/** The secrets as texts. */
export type ResolvedSecret = string | undefined | readonly (string | undefined)[]

/** Whose secrets a function is asked for. */
export interface SecretOwner {
  readonly provider: string
  readonly tenant: string
}

/**
 * One secret, or several while they are rotated; or a function that fetches them, asked again every
 * minute. A file is read again every minute too.
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
  /** How far the signed time may lie from the arrival, to both sides; 'off' accepts any age. */
  toleranceSeconds: z
    .union([z.number().positive(TOLERANCE), z.literal('off')], { error: TOLERANCE })
    .optional(),
  tenant: z.string().min(1).max(255).default('default'),
  unwanted: z.enum(['ignore', 'record']).default('ignore'),
  mismatch: z.enum(['keep-first', 'reject']).default('keep-first'),
  /**
   * The status for a bad signature, where it shall not be the provider's: Mailgun never retries
   * after 406.
   */
  refusedStatus: z.int().min(400).max(499).optional(),
  /**
   * 'shadow': what cannot be verified is reported and acknowledged, and goes no further; see
   * contract.ts.
   */
  mode: z.enum(['enforce', 'shadow']).default('enforce'),
  /** The URL as it was registered with the provider, for those that sign it. */
  url: z.url({ protocol: /^https?$/, error: 'must be the http or https URL that was registered' }).optional(),
  /** What a provider needs besides its secret; each provider names its own. */
  settings: z.record(z.string(), z.string()).default({}),
  /**
   * Certificates or keys of the provider, by the names that its deliveries give them: they are
   * always fetched.
   */
  keyNames: z.array(z.string().min(1).max(2_000)).max(16).default([]),
  /** Whether links by which a sender wants a subscription confirmed are followed. */
  confirm: z.enum(['on', 'off']).default('off'),
  /**
   * Is given the secret that a handshake brings, to be kept and configured; without it such a
   * handshake is refused.
   */
  onSecret: z
    .custom<(secret: string) => void | Promise<void>>(
      (value) => typeof value === 'function',
      'expected a function',
    )
    .optional(),
}

const optionsSchema = strict(optionsShape)

/** What every source takes. */
export type SourceOptions = z.input<typeof optionsSchema>

export type CheckedOptions = z.output<typeof optionsSchema>

export function checkOptions(options: SourceOptions, provider: string): CheckedOptions {
  // A secret that is left out is missing, like one that is empty.
  return check(optionsSchema, Object.assign({ secret: undefined }, options), provider)
}

export type SecretReader = () => ResolvedSecret | Promise<ResolvedSecret>

/**
 * The texts, where they cannot change; else how to read them. Files are read once here: a wrong
 * path fails at once.
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
    throw new HookonceError('SECRET_MISSING', `${provider}: secret: the environment has no ${one.env}`)
  }
  try {
    return readFileSync(one.file, 'utf8').trim()
  } catch (error) {
    throw new HookonceError('SECRET_MISSING', `${provider}: secret: ${one.file} cannot be read`, {
      cause: error,
    })
  }
}

/** A secret that is set, with its place in the list as configured, from 1. */
export interface PlacedSecret {
  readonly text: string
  readonly position: number
}

// Each secret costs one HMAC for a delivery that matches none: eight bound what a stranger can make
// us do, and leave room for more rotation than anyone has under way.
const MAX_SECRETS = 8

/** The secrets that are really there. */
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
    throw new HookonceError('CONFIG_INVALID', `${provider}: secret: at most ${MAX_SECRETS} secrets`)
  }
  // The line break of a secrets file is no part of the secret, and would only show as
  // SIGNATURE_MISMATCH.
  const padded = placed.find(({ text }) => text !== text.trim() && !text.startsWith('-----BEGIN'))
  if (padded !== undefined) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret: number ${padded.position} begins or ends with white space`,
    )
  }
  return placed
}

function isSecret(value: unknown): boolean {
  if (typeof value === 'function') return true
  return Array.isArray(value) ? value.every(isOneSecret) : isOneSecret(value)
}

function isOneSecret(value: unknown): boolean {
  if (value === undefined || typeof value === 'string') return true
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return false
  return [Reflect.get(value, 'env'), Reflect.get(value, 'file')].some((name) => typeof name === 'string')
}
