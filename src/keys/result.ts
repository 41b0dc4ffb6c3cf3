import { HookonceError } from '../model/errors.ts'

/*
 * Encodes values for stores: JSON as bytes. Empty bytes stand for undefined, which JSON cannot
 * express. A single zero byte, which no JSON text begins with, stands for a value that could not be
 * stored.
 */
export const NOT_KEPT = Uint8Array.of(0)

/**
 * Returns the bytes to store, and the value as later callers will receive it. A value that is too
 * large or has no JSON form is not stored. This is not an error: that the task ran is still
 * recorded.
 */
export function encodeValue<Value>(value: Value, maxBytes: number): { result: Uint8Array; value: Value } {
  if (value === undefined) return { result: new Uint8Array(), value }
  const json = jsonOf(value)
  // A text never has fewer bytes than characters, so most oversized values are rejected before
  // copying.
  if (json === undefined || json.length > maxBytes) return { result: NOT_KEPT, value }
  const result = Buffer.from(json)
  return result.length > maxBytes ? { result: NOT_KEPT, value } : { result, value: JSON.parse(json) }
}

/** The caller knows the type that its own function returned. */
export function decodeValue<Value>(bytes: Uint8Array, what = 'the task'): Value {
  if (bytes.length === 0) return undefined as Value
  if (isNotKept(bytes))
    throw new HookonceError('RESULT_NOT_STORED', `${what} ran before, but its result was not stored`)
  return JSON.parse(asBuffer(bytes).toString())
}

export function isNotKept(bytes: Uint8Array): boolean {
  return bytes.length === 1 && bytes[0] === 0
}

/** A view of the same bytes, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // A BigInt, a cyclic object, or a toJSON that throws: the value has no JSON form.
    return undefined
  }
}
