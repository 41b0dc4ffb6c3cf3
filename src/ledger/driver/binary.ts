/**
 * Encodes arrays in PostgreSQL's binary format. `pg` sends a Buffer as a binary parameter, so a
 * whole column of a batch is one parameter that needs no conversion to text and no escaping. For
 * bodies this halves the cost of an accept (7.0k/s with text arrays, 13.3k/s with binary arrays,
 * measured on two cores).
 *
 * Layout: dimensions, has-nulls flag, element type, length, lower bound; then the elements, each
 * prefixed with its length.
 */
const OID = { bool: 16, bytea: 17, int2: 21, int4: 23, text: 25, timestamptz: 1184, uuid: 2950 } as const

const HEADER_BYTES = 20
const NULL_LENGTH = -1
/** PostgreSQL counts microseconds from 2000-01-01. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)

export function uuids(ids: readonly (string | undefined)[]): Buffer {
  const out = header(OID.uuid, ids.length, ids.length * 20)
  let at = HEADER_BYTES
  for (const id of ids) {
    if (id === undefined) {
      out[7] = 1
      at = writeLength(out, NULL_LENGTH, at)
    } else {
      at = writeLength(out, 16, at)
      at = writeUuid(out, id, at)
    }
  }
  return out.subarray(0, at)
}

export function smallints(values: readonly number[]): Buffer {
  return fixed(OID.int2, 2, values, (out, value, at) => out.writeInt16BE(value, at))
}

export function integers(values: readonly number[]): Buffer {
  return fixed(OID.int4, 4, values, (out, value, at) => out.writeInt32BE(value, at))
}

export function booleans(values: readonly boolean[]): Buffer {
  return fixed(OID.bool, 1, values, (out, value, at) => out.writeUInt8(value ? 1 : 0, at))
}

/** Epoch milliseconds, or undefined for null. */
export function timestamps(values: readonly (number | undefined)[]): Buffer {
  return fixed(OID.timestamptz, 8, values, writeTimestamp)
}

/** One timestamp, not in an array. */
export function timestamp(epochMs: number): Buffer {
  const out = Buffer.allocUnsafe(8)
  writeTimestamp(out, epochMs, 0)
  return out
}

function writeTimestamp(out: Buffer, epochMs: number, at: number): number {
  // After the year 2285, microseconds exceed Number.MAX_SAFE_INTEGER.
  return out.writeBigInt64BE(BigInt(Math.round(epochMs - POSTGRES_EPOCH_MS)) * 1000n, at)
}

export function byteas(values: readonly Uint8Array[]): Buffer {
  let bytes = 0
  for (const value of values) bytes += 4 + value.byteLength
  const out = header(OID.bytea, values.length, bytes)
  let at = HEADER_BYTES
  for (const value of values) {
    at = writeLength(out, value.byteLength, at)
    out.set(value, at)
    at += value.byteLength
  }
  return out
}

/** UTF-8 needs at most three bytes per UTF-16 code unit. */
const MAX_BYTES_A_CHAR = 3

export function texts(values: readonly (string | undefined)[]): Buffer {
  let most = 0
  for (const value of values) most += 4 + (value === undefined ? 0 : value.length * MAX_BYTES_A_CHAR)
  const out = header(OID.text, values.length, most)
  let at = HEADER_BYTES
  for (const value of values) {
    if (value === undefined) {
      out[7] = 1
      at = writeLength(out, NULL_LENGTH, at)
    } else {
      const written = out.write(withoutNul(value), at + 4)
      at = writeLength(out, written, at) + written
    }
  }
  return out.subarray(0, at)
}

/**
 * PostgreSQL's text type cannot hold NUL. Event identity is safe: ids are hashes of the original.
 */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}

/**
 * Replaces NULs and lone surrogates, which PostgreSQL rejects. JSON can contain lone surrogates,
 * and shortening a text can create one. Without this, a reason that quotes a sender's text could
 * not be recorded.
 */
export function storable(text: string): string {
  return withoutNul(text).replace(/\p{Surrogate}/gu, '\uFFFD')
}

function fixed<T>(
  oid: number,
  bytes: number,
  values: readonly (T | undefined)[],
  write: (out: Buffer, value: T, at: number) => number,
): Buffer {
  let nulls = 0
  for (const value of values) if (value === undefined) nulls += 1
  const out = header(oid, values.length, values.length * (4 + bytes) - nulls * bytes)
  if (nulls > 0) out[7] = 1
  let at = HEADER_BYTES
  for (const value of values) {
    at = writeLength(out, value === undefined ? NULL_LENGTH : bytes, at)
    if (value !== undefined) at = write(out, value, at)
  }
  return out
}

function header(oid: number, length: number, elementBytes: number): Buffer {
  const out = Buffer.allocUnsafe(HEADER_BYTES + elementBytes)
  out.writeInt32BE(1, 0)
  out.writeInt32BE(0, 4)
  out.writeInt32BE(oid, 8)
  out.writeInt32BE(length, 12)
  out.writeInt32BE(1, 16)
  return out
}

// Faster than writeInt32BE, whose checks cost more than the write. Runs once per element.
function writeLength(out: Buffer, length: number, at: number): number {
  out[at] = length >>> 24
  out[at + 1] = length >>> 16
  out[at + 2] = length >>> 8
  out[at + 3] = length
  return at + 4
}

// Skips the dashes while reading, so no second string is allocated.
function writeUuid(out: Buffer, id: string, start: number): number {
  let at = start
  for (let i = 0; i < 36; i += 2) {
    if (id.charCodeAt(i) === DASH) i += 1
    out[at++] = (hexDigit(id.charCodeAt(i)) << 4) | hexDigit(id.charCodeAt(i + 1))
  }
  return at
}

const DASH = 45

function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : code - 87
}
