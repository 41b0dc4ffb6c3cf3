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
