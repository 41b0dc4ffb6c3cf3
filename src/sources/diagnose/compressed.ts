import { gunzipSync, inflateSync } from 'node:zlib'
import type { Delivery } from '../contract.ts'
import { type Alternative, withBody } from './alternatives.ts'

/** The sender decides the unpacked size. Larger results are not examined. */
const MAX_BYTES = 1024 * 1024

/** Unpacking takes about as long as hashing this many times the resulting bytes. */
const COST = 4

interface Compression {
  readonly name: 'gzip' | 'deflate'
  readonly unpack: (body: Uint8Array) => Buffer
}

/**
 * Detects compression by the first bytes. There is no `content-encoding`, because such a delivery
 * is rejected earlier.
 */
export function compressionOf({ body }: Pick<Delivery, 'body'>): Compression | undefined {
  const options = { maxOutputLength: MAX_BYTES }
  if (body[0] === 0x1f && body[1] === 0x8b)
    return { name: 'gzip', unpack: (bytes) => gunzipSync(bytes, options) }
  // The zlib header at its four levels.
  if (body[0] === 0x78 && [0x01, 0x5e, 0x9c, 0xda].includes(body[1] ?? 0))
    return { name: 'deflate', unpack: (bytes) => inflateSync(bytes, options) }
  return undefined
}

export function compressedHint(name: string): string {
  return `the body is compressed with ${name}, but there is no content-encoding header: it was compressed on the way, after signing; disable that compression for this URL`
}

export function* unpackedBody(delivery: Delivery): Iterable<Alternative> {
  const compression = compressionOf(delivery)
  if (compression === undefined) return
  try {
    const body = compression.unpack(delivery.body)
    yield {
      diagnosis: compressedHint(compression.name),
      delivery: withBody(delivery, body),
      cost: delivery.body.length + body.length * COST,
    }
  } catch {
    // Truncated, damaged or too large: it cannot be tried.
  }
}
