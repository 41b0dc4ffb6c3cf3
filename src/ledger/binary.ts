/**
 * Arrays in PostgreSQL's binary format. `pg` sends a Buffer as a binary parameter, so a whole column of a batch
 * travels as one parameter without being turned into text and escaped: for bodies that halves the cost of an
 * accept (7.0k/s with text arrays, 13.3k/s with these, measured on two cores).
 *
 * Layout: dimensions, has-nulls flag, element type, length, lower bound; then length-prefixed elements.
 */
const OID = { bool: 16, bytea: 17, int2: 21, int4: 23, text: 25, timestamptz: 1184, uuid: 2950 } as const

const HEADER_BYTES = 20
const NULL_LENGTH = -1
/** PostgreSQL counts microseconds from 2000-01-01. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)

export function uuids(ids: readonly string[]): Buffer {
  const out = header(OID.uuid, ids.length, ids.length * 20)
  let at = HEADER_BYTES
  for (const id of ids) {
    at = out.writeInt32BE(16, at)
    at += out.write(id.replaceAll('-', ''), at, 'hex')
  }
  return out
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
  return fixed(OID.timestamptz, 8, values, (out, value, at) =>
    out.writeBigInt64BE(BigInt(Math.round((value - POSTGRES_EPOCH_MS) * 1000)), at),
  )
}

export function byteas(values: readonly Uint8Array[]): Buffer {
  const out = header(
    OID.bytea,
    values.length,
    sum(values, (value) => 4 + value.byteLength),
  )
  let at = HEADER_BYTES
  for (const value of values) {
    at = out.writeInt32BE(value.byteLength, at)
    out.set(value, at)
    at += value.byteLength
  }
  return out
}

export function texts(values: readonly (string | undefined)[]): Buffer {
  const clean = values.map((value) => (value === undefined ? undefined : withoutNul(value)))
  const lengths = clean.map((value) => (value === undefined ? NULL_LENGTH : Buffer.byteLength(value)))
  const out = header(
    OID.text,
    values.length,
    sum(lengths, (length) => 4 + Math.max(length, 0)),
  )
  let at = HEADER_BYTES
  clean.forEach((value, index) => {
    at = out.writeInt32BE(lengths[index] ?? NULL_LENGTH, at)
    if (value === undefined) out.writeInt32BE(1, 4)
    else at += out.write(value, at)
  })
  return out
}

/** PostgreSQL's text cannot hold NUL. Identity does not depend on it: ids are hashes of the original. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}

function fixed<T>(
  oid: number,
  bytes: number,
  values: readonly (T | undefined)[],
  write: (out: Buffer, value: T, at: number) => number,
): Buffer {
  const nulls = values.reduce((count, value) => (value === undefined ? count + 1 : count), 0)
  const out = header(oid, values.length, values.length * (4 + bytes) - nulls * bytes)
  if (nulls > 0) out.writeInt32BE(1, 4)
  let at = HEADER_BYTES
  for (const value of values) {
    at = out.writeInt32BE(value === undefined ? NULL_LENGTH : bytes, at)
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

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0
  for (const value of values) total += of(value)
  return total
}
