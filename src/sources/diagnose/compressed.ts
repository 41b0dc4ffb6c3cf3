import { gunzipSync, inflateSync } from 'node:zlib'
import type { Delivery } from '../contract.ts'
import { type Alternative, withBody } from './alternatives.ts'

/** What a few bytes may unpack to is the sender's choice: more than this is not looked at. */
const MAX_BYTES = 1024 * 1024

/** Unpacking takes about as long as hashing so many times the bytes that come out. */
const COST = 4

interface Packing {
  readonly name: 'gzip' | 'deflate'
  readonly unpack: (body: Uint8Array) => Buffer
}

/**
 * How a body is compressed, by its first bytes. It came without a `content-encoding`, which is
 * refused at once.
 */
export function packingOf({ body }: Pick<Delivery, 'body'>): Packing | undefined {
  const options = { maxOutputLength: MAX_BYTES }
  if (body[0] === 0x1f && body[1] === 0x8b)
    return { name: 'gzip', unpack: (bytes) => gunzipSync(bytes, options) }
  // The header of zlib at its four levels.
  if (body[0] === 0x78 && [0x01, 0x5e, 0x9c, 0xda].includes(body[1] ?? 0))
    return { name: 'deflate', unpack: (bytes) => inflateSync(bytes, options) }
  return undefined
}

export function compressedHint(name: string): string {
  return `the body is compressed with ${name} and no content-encoding says so: something on its way compressed it after it was signed; turn that off for this URL`
}

export function* unpackedBody(delivery: Delivery): Iterable<Alternative> {
  const packing = packingOf(delivery)
  if (packing === undefined) return
  try {
    const body = packing.unpack(delivery.body)
    yield {
      says: compressedHint(packing.name),
      delivery: withBody(delivery, body),
      cost: delivery.body.length + body.length * COST,
    }
  } catch {
    // Cut off, damaged, or too large: it cannot be tried.
  }
}
