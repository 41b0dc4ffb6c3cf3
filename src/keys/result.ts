import { HookonceError } from '../model/errors.ts'

/*
 * Values as stores keep them: JSON in bytes. No bytes at all stand for undefined, which JSON cannot say; a single zero
 * byte, which no JSON begins with, stands for a value that could not be kept.
 */
export const NOT_KEPT = Uint8Array.of(0)

/**
 * The bytes for the store, and the value as whoever asks next will get it. A value that is too large or has no JSON is
 * not kept: that it was computed is, and that must not fail.
 */
export function encodeValue<Value>(value: Value, maxBytes: number): { result: Uint8Array; value: Value } {
  if (value === undefined) return { result: new Uint8Array(), value }
  const json = jsonOf(value)
  // No text has fewer bytes than characters, so that most of what is too large is not even copied.
  if (json === undefined || json.length > maxBytes) return { result: NOT_KEPT, value }
  const result = Buffer.from(json)
  return result.length > maxBytes ? { result: NOT_KEPT, value } : { result, value: JSON.parse(json) }
}

/** The caller knows what its own function returned. */
export function decodeValue<Value>(bytes: Uint8Array, what = 'it'): Value {
  if (bytes.length === 0) return undefined as Value
  if (isNotKept(bytes))
    throw new HookonceError('RESULT_NOT_STORED', `${what} has run before, but what it returned was not kept`)
  return JSON.parse(asBuffer(bytes).toString())
}

export function isNotKept(bytes: Uint8Array): boolean {
  return bytes.length === 1 && bytes[0] === 0
}

/** The same bytes, not a copy of them. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // A BigInt, a cycle, a toJSON that throws: there is no JSON for it.
    return undefined
  }
}
