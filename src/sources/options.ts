import { z } from 'zod'
import { check, strict } from '../model/checked.ts'
import { HookonceError } from '../model/errors.ts'

/** One secret, or several while they are rotated. What `process.env` does not hold may be passed on as it is. */
export type Secret = string | undefined | readonly (string | undefined)[]

const TOLERANCE = "expected a number of seconds above 0, or 'off' to accept any age"

export const optionsShape = {
  secret: z.custom<Secret>(isSecret, 'expected a string, or an array of strings'),
  /** How far the signed time may lie from the arrival, to both sides; 'off' accepts any age. */
  toleranceSeconds: z
    .union([z.number().positive(TOLERANCE), z.literal('off')], { error: TOLERANCE })
    .optional(),
  tenant: z.string().min(1).max(255).default('default'),
  unwanted: z.enum(['ignore', 'record']).default('ignore'),
  mismatch: z.enum(['keep-first', 'reject']).default('keep-first'),
}

const optionsSchema = strict(optionsShape)

/** What every source takes. */
export type SourceOptions = z.input<typeof optionsSchema>

export type CheckedOptions = z.output<typeof optionsSchema>

export function checkOptions(options: SourceOptions, provider: string): CheckedOptions {
  // A secret that is left out is missing, like one that is empty.
  return check(optionsSchema, Object.assign({ secret: undefined }, options), provider)
}

/** A secret that is set, with its place in the list as configured, from 1. */
export interface PlacedSecret {
  readonly text: string
  readonly position: number
}

// Each secret costs one HMAC for a delivery that matches none: eight bound what a stranger can make us do, and
// leave room for more rotation than anyone has under way.
const MAX_SECRETS = 8

/** The secrets that are really there. */
export function placedSecrets(secret: Secret, provider: string): PlacedSecret[] {
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
  // The line break of a secrets file is no part of the secret, and would only show as SIGNATURE_MISMATCH.
  const padded = placed.find(({ text }) => text !== text.trim())
  if (padded !== undefined) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret: number ${padded.position} begins or ends with white space`,
    )
  }
  return placed
}

function isSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => item === undefined || typeof item === 'string')
  return value === undefined || typeof value === 'string'
}
