import { createHash } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'

/**
 * Every attempt reads the results, so they must be small: return the id of large data, not the
 * data.
 */
const MAX_RESULT_BYTES = 64 * 1024

/**
 * A result as JSON, or null if there is none. Values that JSON would silently change are refused: a
 * date that is read back as text would be noticed only at the first retry in production.
 */
export function toRecord(what: string, result: unknown): string | null {
  if (result === undefined) return null
  const fault = notJson(result, { path: [], inside: [], isKept: true })
  if (fault) throw new HookonceError('RESULT_NOT_JSON', `the result of ${what} ${fault}`)
  return limited(what, JSON.stringify(result))
}

function limited(what: string, json: string): string {
  if (Buffer.byteLength(json) <= MAX_RESULT_BYTES) return json
  throw new HookonceError(
    'STEP_RESULT_TOO_LARGE',
    `the result of ${what} is larger than ${MAX_RESULT_BYTES} bytes; return less, for example an id`,
  )
}

/** The recorded result; the column is null if there was none. */
export function fromRecord(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json)
}

/**
 * Hash of the declared input of a step or an effect, to detect another input under the same name.
 */
export function inputHash(what: string, input: unknown): Buffer | null {
  if (input === undefined) return null
  const fault = notJson(input, { path: [], inside: [], isKept: false })
  if (fault) throw new HookonceError('RESULT_NOT_JSON', `the input of ${what} ${fault}`)
  return createHash('sha256').update(canonical(input)).digest()
}

/** Two declared inputs must be equal. If either is not declared, there is nothing to compare. */
export function requireSameInput(what: string, before: Uint8Array | null, now: Uint8Array | null): void {
  if (!before || !now || Buffer.compare(before, now) === 0) return
  throw new HookonceError(
    'EFFECT_INPUT_CHANGED',
    `${what} was recorded with a different input; use another name for another input`,
  )
}

// Sorted keys: the order of keys does not change the input.
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}

/** Real data is not as deep. PostgreSQL allows more, but the recursion needs a limit. */
const MAX_DEPTH = 100

interface JsonPlace {
  readonly path: readonly string[]
  /** The objects around the value, to find cycles. */
  readonly inside: readonly object[]
  /** True if the value is stored. An input is only compared. */
  readonly isKept: boolean
}

/** The place and the reason why a value is not JSON. Undefined if it is JSON. */
function notJson(value: unknown, place: JsonPlace): string | undefined {
  const { path, inside, isKept } = place
  const at = path.length === 0 ? '' : ` at "${path.join('.')}"`
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string') {
    const fault = isKept && unkept(value)
    return fault ? `holds ${fault}${at}, which the ledger cannot keep` : undefined
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : `holds ${value}${at}, which JSON cannot represent`
  }
  if (typeof value !== 'object') return `holds a ${typeof value}${at}: return plain data`
  if (inside.includes(value)) return `holds itself${at}: return plain data`
  if (path.length > MAX_DEPTH) return 'is nested too deeply'
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null || Array.isArray(value)
  if (!isPlain) {
    return `holds a ${value.constructor?.name ?? 'class'}${at}: return plain data, a date as its ISO text`
  }
  if (Array.isArray(value)) {
    const fault = unlisted(value)
    if (fault) return `holds ${fault}${at}, which JSON cannot keep`
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    const unkeptKey = isKept && unkept(key)
    if (unkeptKey) return `holds ${unkeptKey} in a key${at}, which the ledger cannot keep`
    const fault = notJson(member, { path: [...path, key], inside: [...inside, value], isKept })
    if (fault) return fault
  }
  return undefined
}

/** Finds entries of a list that JSON would turn into null or drop. */
function unlisted(list: readonly unknown[]): string | undefined {
  // Also finds holes. An undefined member of an object is allowed: it is read back as undefined.
  if (list.includes(undefined)) return 'a list with undefined in it'
  const extra = Object.keys(list)[list.length]
  return extra === undefined ? undefined : `a list with a property "${extra}"`
}

function unkept(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL character'
  return /\p{Surrogate}/u.test(text) ? 'half a surrogate pair' : undefined
}
