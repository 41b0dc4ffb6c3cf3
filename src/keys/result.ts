import { HookonceError } from '../model/errors.ts'

/*
 * Values as stores keep them: JSON in bytes. No bytes at all stand for undefined, which JSON cannot say; a single zero
 * byte, which no JSON begins with, stands for a value that could not be kept.
 */
export const NOT_KEPT = Uint8Array.of(0)

/** A value that is too large or has no JSON is not kept: that it was computed is, and that must not fail. */
export function encodeValue(value: unknown, maxBytes: number): Uint8Array {
  if (value === undefined) return new Uint8Array()
  const json = jsonOf(value)
  if (json === undefined || Buffer.byteLength(json) > maxBytes) return NOT_KEPT
  return Buffer.from(json)
}

/** The caller knows what its own function returned. */
export function decodeValue<Value>(bytes: Uint8Array, what = 'it'): Value {
  if (bytes.length === 0) return undefined as Value
  if (isNotKept(bytes))
    throw new HookonceError('RESULT_NOT_STORED', `${what} has run before, but what it returned was not kept`)
  return JSON.parse(Buffer.from(bytes).toString())
}

export function isNotKept(bytes: Uint8Array): boolean {
  return bytes.length === 1 && bytes[0] === 0
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // A BigInt, a cycle, a toJSON that throws: there is no JSON for it.
    return undefined
  }
}

/** What refers to itself has no end. */
const MAX_DEPTH = 100

/** Why a value would not come out of JSON as it went in, with where in it; undefined where it would. */
export function notJson(value: unknown, path: readonly string[] = []): string | undefined {
  const at = path.length === 0 ? '' : ` at "${path.join('.')}"`
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : `holds ${value}${at}, which JSON has no word for`
  if (typeof value !== 'object') return `holds a ${typeof value}${at}: return plain data`
  if (path.length > MAX_DEPTH) return 'is nested too deeply'
  if (Array.isArray(value)) {
    // Not by forEach: it would step over what is not there.
    for (let n = 0; n < value.length; n++) {
      const fault = notJson(value[n], [...path, String(n)])
      if (fault !== undefined) return fault
    }
    return undefined
  }
  if (!isPlain(value))
    return `holds a ${value.constructor?.name ?? 'class'}${at}: return plain data, a date as its ISO text`
  for (const [name, member] of Object.entries(value)) {
    const fault = member === undefined ? undefined : notJson(member, [...path, name])
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Objects of another realm, such as that of a test runner, have another Object.prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
