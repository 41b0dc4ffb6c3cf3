import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { refuse } from './refuse.ts'

type TimestampDescription = CheckedDescription['timestamp']
type Unit = NonNullable<TimestampDescription>['unit']

// Up to 15 digits a number is exact; longer ones are no date of ours.
const DIGITS = /^\d{1,15}$/
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** The date of a signature: its text is what was signed. */
interface SignedAt {
  readonly text: string
  readonly epochMs: number
}

/** Finds the date of a signature, in a header of its own or as a field of the signature header. */
export function signedAtReader(
  timestamp: TimestampDescription,
): (delivery: Delivery, field: string | undefined) => SignedAt | Refusal {
  if (timestamp === undefined) {
    const none: SignedAt = { text: '', epochMs: 0 }
    return () => none
  }
  const { at, unit } = timestamp
  const header = at.startsWith('header:') ? at.slice('header:'.length).toLowerCase() : undefined
  return (delivery, field) => {
    const text = header === undefined ? field : delivery.header(header)
    if (!text) return refuse('SIGNATURE_MISSING', `the signed date (${at}) is not there`)
    const epochMs = parseTimestamp(text, unit)
    if (epochMs === undefined) {
      return refuse('SIGNATURE_MALFORMED', `the signed date (${at}) is not in the unit ${unit}`)
    }
    return { text, epochMs }
  }
}

function parseTimestamp(text: string, unit: Unit): number | undefined {
  if (unit === 'iso') return parseIso(text)
  if (!DIGITS.test(text)) return undefined
  return unit === 's' ? Number(text) * 1000 : Number(text)
}

export function formatTimestamp(epochMs: number, unit: Unit): string {
  if (unit === 'iso') return new Date(epochMs).toISOString()
  return String(Math.floor(unit === 's' ? epochMs / 1000 : epochMs))
}

// The years 1970 to 9999: dates that every store and every `Date` can hold.
const LAST_MS = Date.UTC(10_000, 0)

/** A date as a payload carries it: ISO text, or a number in its unit. Anything else is no date. */
export function parseOccurredAt(value: unknown, unit: Unit): number | undefined {
  // Nothing but text and numbers is looked at: turning a stranger's object into text can throw.
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  const epochMs = parseTimestamp(text, DIGITS.test(text) ? unit : 'iso')
  return epochMs !== undefined && epochMs >= 0 && epochMs < LAST_MS ? epochMs : undefined
}

function parseIso(text: string): number | undefined {
  const epochMs = ISO.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(epochMs) ? undefined : epochMs
}

/**
 * Whether a signed date lies near enough to the arrival. Both comparisons say what is allowed, so that a date that
 * is no number is refused.
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
