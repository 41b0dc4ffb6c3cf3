import { placeholdersOf } from '../places.ts'
import { type DigestSignature, isPublicKey, type Timestamp } from '../signature.ts'
import { digester } from './digest.ts'

/** The unverified content of a signature header. */
interface SignatureHeader {
  readonly signatures: readonly Buffer[]
  /** Public-key signatures, besides the others. */
  readonly asymmetric: readonly Buffer[]
  readonly timestamp: string | undefined
  /** The names of the signed headers, as listed. */
  readonly headers: string | undefined
  /** The items that the signed content names. */
  readonly named?: ReadonlyMap<string, string> | undefined
  /** The number of signatures beyond the limits. They are not tried. */
  readonly untried?: number
}

// A provider sends one signature per live secret: two during a rotation. Comparing is cheap, but
// not free.
export const MAX_SIGNATURES = 8

// Standard Webhooks sends one signature per live key, of which ours may be the last. Eight failures
// cost half a millisecond with a body of 2 kB, and eight with 1 MB.
const MAX_ASYMMETRIC = 8
const NONE: readonly Buffer[] = []

/** Reads the signature header of a provider. The list is empty if no signature can be decoded. */
export function signatureHeaderReader(
  { algorithm, encoding, format, asymmetric, content }: DigestSignature,
  timestamp: Timestamp | undefined,
): (header: string) => SignatureHeader {
  const decode = signatureDecoder(encoding, digester(algorithm).bytes)
  if (format.kind === 'bare') return bareReader(format.prefix, decode)

  const at = timestamp?.at ?? ''
  const timestampField = at.startsWith('field:') ? at.slice('field:'.length) : undefined
  // Checking a public-key signature costs as much as a hundred HMACs, and no provider sends more
  // than two.
  const maxSignatures = isPublicKey(algorithm) ? 2 : MAX_SIGNATURES
  if (format.kind === 'values')
    return valuesReader({ ...format, maxSignatures, isDated: timestampField !== undefined }, decode)
  const other = asymmetric && {
    field: asymmetric.signatureField,
    decode: signatureDecoder(encoding, digester('ed25519').bytes),
  }
  const named = placeholdersOf(content).flatMap((placeholder) =>
    placeholder.startsWith('field:') ? [placeholder.slice('field:'.length)] : [],
  )
  return listReader({ ...format, timestampField, maxSignatures, other, named: new Set(named) }, decode)
}

type Decode = (text: string) => Buffer | undefined

function bareReader(prefix: string, decode: Decode): (header: string) => SignatureHeader {
  return (header) => {
    const decoded = header.startsWith(prefix) ? decode(header.slice(prefix.length)) : undefined
    const signatures = decoded === undefined ? NONE : [decoded]
    return { signatures, asymmetric: NONE, timestamp: undefined, headers: undefined }
  }
}

interface ValuesFormat {
  readonly separator: string
  readonly maxSignatures: number
  /** Whether the first value is the date. */
  readonly isDated: boolean
}

function valuesReader(
  { separator, maxSignatures, isDated }: ValuesFormat,
  decode: Decode,
): (header: string) => SignatureHeader {
  return (header) => {
    const values = header.split(separator, maxSignatures + 1).map((value) => value.trim())
    const timestamp = isDated ? values.shift() : undefined
    const signatures = values.slice(0, maxSignatures).flatMap((value) => decode(value) ?? [])
    return { signatures, asymmetric: NONE, timestamp, headers: undefined }
  }
}

interface ListFormat {
  readonly itemSeparator: string
  readonly fieldSeparator: string
  readonly signatureField: string
  readonly headersField?: string | undefined
  readonly timestampField: string | undefined
  readonly maxSignatures: number
  /** The item with public-key signatures. */
  readonly other: { readonly field: string; readonly decode: Decode } | undefined
  /** The items that the signed content names. */
  readonly named: ReadonlySet<string>
}

function listReader(format: ListFormat, decode: Decode): (header: string) => SignatureHeader {
  const [separator = '', otherSeparator] = format.itemSeparator
  const { other } = format
  return (text) => {
    const header = otherSeparator === undefined ? text : text.replaceAll(otherSeparator, separator)
    const signatures: Buffer[] = []
    let timestamp: string | undefined
    let headers: string | undefined
    let candidates = 0
    const asymmetric: Buffer[] = []
    const named = format.named.size === 0 ? undefined : new Map<string, string>()
    let others = 0
    for (let at = 0, end = 0; at < header.length; at = end + 1) {
      end = header.indexOf(separator, at)
      if (end < 0) end = header.length
      const item = header.slice(at, end).trim()
      const cut = item.indexOf(format.fieldSeparator)
      if (cut < 0) continue
      const field = item.slice(0, cut)
      if (field === format.timestampField) timestamp ??= item.slice(cut + 1)
      else if (field === format.headersField) headers ??= item.slice(cut + 1)
      if (named !== undefined && format.named.has(field) && !named.has(field))
        named.set(field, item.slice(cut + 1))
      if (field === other?.field && ++others <= MAX_ASYMMETRIC) {
        const decoded = other.decode(item.slice(cut + 1))
        if (decoded !== undefined) asymmetric.push(decoded)
      }
      if (field !== format.signatureField || ++candidates > format.maxSignatures) continue
      const decoded = decode(item.slice(cut + 1))
      if (decoded !== undefined) signatures.push(decoded)
    }
    const untried = Math.max(0, candidates - format.maxSignatures) + Math.max(0, others - MAX_ASYMMETRIC)
    return { signatures, asymmetric, timestamp, headers, named, untried }
  }
}

/**
 * Decodes exactly one digest. Buffer.from alone would skip invalid characters and return other
 * lengths.
 */
function signatureDecoder(encoding: DigestSignature['encoding'], bytes: number | undefined): Decode {
  if (encoding === 'base64-hex') {
    const decodeHex = signatureDecoder('hex', bytes)
    return (text) =>
      /^[A-Za-z0-9+/]+={0,2}$/.test(text)
        ? decodeHex(Buffer.from(text, 'base64').toString('latin1'))
        : undefined
  }
  // For kinds of varying length: the shortest is ECDSA, the longest RSA with 8192 bits.
  const hexChars = bytes === undefined ? '16,2048' : bytes * 2
  const base64Chars = bytes === undefined ? '11,1366' : Math.ceil((bytes * 4) / 3)
  const shape = {
    hex: new RegExp(`^[0-9A-Fa-f]{${hexChars}}$`),
    base64: new RegExp(`^[A-Za-z0-9+/]{${base64Chars}}={0,2}$`),
    base64url: new RegExp(`^[A-Za-z0-9_-]{${base64Chars}}={0,2}$`),
  }[encoding]
  return (text) => (shape.test(text) ? Buffer.from(text, encoding) : undefined)
}

/** Writes a signature in its encoding. */
export function encodeSignature(signature: Buffer, encoding: DigestSignature['encoding']): string {
  if (encoding !== 'base64-hex') return signature.toString(encoding)
  return Buffer.from(signature.toString('hex')).toString('base64')
}
