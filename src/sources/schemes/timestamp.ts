import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { Unit } from '../signature.ts'
import { type Read, textAt } from './locate.ts'
import { refuse } from './refuse.ts'

// A number is exact up to 15 digits. No valid date is longer.
const DIGITS = /^\d{1,15}$/
// A date without a zone is UTC: every provider that omits the zone uses UTC.
const ISO = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(Z| ?UTC|[+-]\d{2}:?\d{2})?$/
// `Tue, 14 Nov 2023 22:13:20 GMT`, as in HTTP and mail.
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[+-]\d{4})$/

/** The date of a signature. Its text is the signed text. */
interface SignedAt {
  readonly text: string
  readonly epochMs: number
}

/** Finds the date of a signature, in its own header or as a field of the signature header. */
export function signedAtReader({
  timestamp,
}: Pick<CheckedDescription, 'timestamp'>): (
  delivery: Delivery,
  payload: unknown,
  field: string | undefined,
) => SignedAt | Refusal {
  if (timestamp === undefined) {
    const none: SignedAt = { text: '', epochMs: 0 }
    return () => none
  }
  const { at, unit } = timestamp
  const readText = dateText(at)
  return (delivery, payload, field) => {
    const text = field ?? readText(delivery, payload)
    if (!text) return refuse('SIGNATURE_MISSING', `the signed date (${at}) is missing`)
    const epochMs = parseTimestamp(text, unit)
    if (epochMs === undefined) {
      return refuse('SIGNATURE_MALFORMED', `the signed date (${at}) is not in the unit ${unit}`)
    }
    return { text, epochMs }
  }
}

function dateText(at: string): Read<string> {
  if (at.startsWith('header:')) {
    const name = at.slice('header:'.length).toLowerCase()
    return (delivery) => delivery.header(name)
  }
  return at.startsWith('json:') ? textAt(at as `json:${string}`) : () => undefined
}

export function parseTimestamp(text: string, unit: Unit): number | undefined {
  if (unit === 'iso') return parseIso(text)
  if (!DIGITS.test(text)) return undefined
  return unit === 's' ? Number(text) * 1000 : Number(text)
}

export function formatTimestamp(epochMs: number, unit: Unit): string {
  if (unit === 'iso') return new Date(epochMs).toISOString()
  return String(Math.floor(unit === 's' ? epochMs / 1000 : epochMs))
}

// The years 1970 to 9999, which every store and every `Date` can hold.
const LAST_MS = Date.UTC(10_000, 0)

/**
 * Parses a date from a payload: ISO text, an HTTP date, or a number in its unit. Undefined for
 * anything else.
 */
export function parseOccurredAt(value: unknown, unit: Unit): number | undefined {
  // Strings and numbers only: converting an unknown sender's object to text can throw.
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  const epochMs = parseAnyDate(text, unit)
  return epochMs !== undefined && epochMs >= 0 && epochMs < LAST_MS ? epochMs : undefined
}

function parseAnyDate(text: string, unit: Unit): number | undefined {
  // As seconds this number would be after the year 5000, so a sender that mixes units meant
  // milliseconds.
  if (DIGITS.test(text)) return parseTimestamp(text, text.length > 11 ? 'ms' : unit)
  // Seconds with a fraction, as Slack and others write them.
  if (unit === 's' && /^\d{1,12}\.\d{1,9}$/.test(text)) return Math.floor(Number(text) * 1000)
  return HTTP_DATE.test(text) ? validDate(Date.parse(text)) : parseIso(text)
}

function parseIso(text: string): number | undefined {
  const zone = ISO.exec(text)?.[1]
  if (zone === undefined)
    return ISO.test(text) ? validDate(Date.parse(`${text.replace(' ', 'T')}Z`)) : undefined
  const written = text.slice(0, -zone.length).replace(' ', 'T')
  return validDate(Date.parse(written + (zone.endsWith('UTC') ? 'Z' : zone)))
}

function validDate(epochMs: number): number | undefined {
  return Number.isNaN(epochMs) ? undefined : epochMs
}

/**
 * Whether the signed date is close enough to the arrival. Both comparisons test the allowed range,
 * so NaN is rejected.
 */
export function checkAge(
  signedAtMs: number,
  receivedAtMs: number,
  toleranceSeconds: number | 'off',
): Refusal | undefined {
  if (toleranceSeconds === 'off') return undefined
  const ageSeconds = (receivedAtMs - signedAtMs) / 1000
  if (!(ageSeconds <= toleranceSeconds)) {
    return refuse(
      'TIMESTAMP_TOO_OLD',
      `signed ${ageSeconds} s before it arrived; the tolerance is ${toleranceSeconds} s`,
    )
  }
  if (!(ageSeconds >= -toleranceSeconds)) {
    return refuse(
      'TIMESTAMP_IN_FUTURE',
      `signed ${-ageSeconds} s after it arrived; the tolerance is ${toleranceSeconds} s`,
    )
  }
  return undefined
}
