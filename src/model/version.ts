import { HookonceError } from './errors.ts'

/** How versions of an entity are compared. */
export type VersionKind = 'timestamp' | 'number' | 'text'

/** The version of an event's entity, and how it is compared. */
export interface Version {
  readonly as: VersionKind
  readonly value: string
}

/** A version as given: a Date compares as a timestamp, a number as a number, a string as text. */
export type VersionInput = Version | Date | number | bigint | string

/** Returns the normalised version, or undefined if its value does not fit its kind. */
export function readableVersion(version: Version): Version | undefined {
  try {
    return versionOf(version)
  } catch {
    return undefined
  }
}

/** Normalises a version, so that two of the same kind compare by their values. */
export function versionOf(input: VersionInput): Version {
  if (typeof input === 'string') return { as: 'text', value: input }
  if (typeof input === 'bigint') return { as: 'number', value: String(input) }
  if (typeof input === 'number') return { as: 'number', value: decimal(String(input)) }
  if (input instanceof Date) return { as: 'timestamp', value: timestamp(input, '') }
  return { as: input.as, value: NORMALISE[input.as](input.value) }
}

const NORMALISE: Readonly<Record<VersionKind, (value: string) => string>> = {
  text: (value) => value,
  number: decimal,
  timestamp: isoTimestamp,
}

const DECIMAL = /^-?\d+(\.\d+)?$/

function decimal(value: string): string {
  if (DECIMAL.test(value)) return value
  throw new HookonceError('VERSION_INVALID', `"${value}" is not a decimal number`)
}

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?(?:Z|[+-]\d{2}:\d{2})$/

function isoTimestamp(value: string): string {
  const match = ISO.exec(value)
  if (!match) throw new HookonceError('VERSION_INVALID', `"${value}" is not a date and time in ISO 8601`)
  // A Date holds milliseconds. Two versions may differ only in the digits after them.
  return timestamp(new Date(value), (match[1] ?? '').slice(3))
}

/** In UTC with nine decimals, so that the order of the texts is the order of the dates. */
function timestamp(date: Date, beyondMs: string): string {
  const year = date.getUTCFullYear()
  if (!(year >= 0 && year <= 9999)) throw new HookonceError('VERSION_INVALID', 'an invalid Date')
  return `${date.toISOString().slice(0, -1)}${beyondMs.padEnd(6, '0')}Z`
}

/** Negative, zero or positive, as for sorting. Both versions must be of one kind. */
export function compareVersions(a: Version, b: Version): number {
  if (a.as === 'number') return compareDecimals(a.value, b.value)
  // Compares bytes: the order of a language would depend on the machine.
  return Buffer.compare(Buffer.from(a.value), Buffer.from(b.value))
}

function compareDecimals(a: string, b: string): number {
  const places = Math.max(fractionOf(a).length, fractionOf(b).length)
  const difference = scaled(a, places) - scaled(b, places)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

function fractionOf(decimal: string): string {
  return decimal.split('.')[1] ?? ''
}

function scaled(decimal: string, places: number): bigint {
  return BigInt(decimal.split('.')[0] + fractionOf(decimal).padEnd(places, '0'))
}
