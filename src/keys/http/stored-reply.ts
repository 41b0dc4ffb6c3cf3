import type { Reply } from './message.ts'

/*
 * The stored form of a reply: one line of JSON, then the bytes of the body. Only headers that
 * describe the result are stored. Cookies belong to the client of the first reply; dates, lengths
 * and encodings belong to one transfer.
 */
const KEPT_HEADERS = new Set([
  'content-type',
  'location',
  'etag',
  'link',
  'content-language',
  // These headers restrict what a browser or cache may do with the body. A replay without them
  // would be less safe.
  'content-disposition',
  'content-security-policy',
  'x-content-type-options',
  'cache-control',
])
const NEWLINE = 0x0a

export interface StoredReply {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** `none`: there was a body, but it was not stored. `inline`: the bytes follow the head. */
  readonly body: 'inline' | 'none' | { readonly spilled: string }
  /** The id of the first request. */
  readonly request?: string
  readonly bytes: Uint8Array
}

export function keptHeaders(
  headers: Reply['headers'],
  more: readonly string[],
): readonly (readonly [string, string])[] {
  const names = more.length === 0 ? KEPT_HEADERS : new Set([...KEPT_HEADERS, ...more])
  const kept: [string, string][] = []
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (names.has(lower)) kept.push([lower, value])
  }
  return kept
}

export function encodeReply({ bytes, ...head }: StoredReply): Uint8Array {
  const line = `${JSON.stringify(head)}\n`
  const headBytes = Buffer.byteLength(line)
  const stored = Buffer.allocUnsafe(headBytes + bytes.length)
  stored.write(line)
  stored.set(bytes, headBytes)
  return stored
}

export function decodeReply(stored: Uint8Array): StoredReply {
  const end = stored.indexOf(NEWLINE)
  const head: Omit<StoredReply, 'bytes'> = JSON.parse(
    Buffer.from(stored.buffer, stored.byteOffset, end).toString(),
  )
  return { ...head, bytes: stored.subarray(end + 1) }
}
