import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { type DigestSignature, isDigest } from '../signature.ts'
import { type Alternative, withHeader } from './alternatives.ts'

type Encoding = Exclude<DigestSignature['encoding'], 'base64-hex'>
type Algorithm = DigestSignature['algorithm']

/** Algorithms, by digest length. */
const HMACS: ReadonlyMap<number, Algorithm> = new Map([
  [16, 'hmac-md5'],
  [20, 'hmac-sha1'],
  [32, 'hmac-sha256'],
  [48, 'hmac-sha384'],
  [64, 'hmac-sha512'],
])

const MAX_CANDIDATES = 8

/**
 * Reads the header with a different encoding, algorithm, field or prefix than this source expects.
 */
export function* otherSignatures(delivery: Delivery, description: CheckedDescription): Iterable<Alternative> {
  const { signature } = description
  if (!isDigest(signature) || !signature.algorithm.startsWith('hmac-')) return
  const name = [signature.header ?? []].flat()[0]
  const text = name === undefined ? undefined : delivery.header(name)?.slice(0, 1024)
  if (name === undefined || text === undefined) return
  const { format } = signature
  if (format.kind === 'values') return
  for (const { field, value } of candidates(text, format)) {
    for (const { encoding, algorithm } of readingsOf(value)) {
      const difference = differences({ ...signature, format }, { encoding, algorithm, field })
      if (difference === '') continue
      const read: DigestSignature =
        format.kind === 'list'
          ? { ...signature, algorithm, encoding, format: { ...format, signatureField: field } }
          : { ...signature, algorithm, encoding, format: { kind: 'bare', prefix: '' } }
      yield {
        diagnosis: `another version of the scheme: ${difference}`,
        input: { description: { ...description, signature: read } },
        ...(format.kind === 'bare' && { delivery: withHeader(delivery, name, value) }),
      }
    }
  }
}

/** The content templates that senders commonly sign. */
const CONTENTS = [
  '{body}',
  '{timestamp}.{body}',
  '{timestamp}{body}',
  '{timestamp}:{body}',
  'v0:{timestamp}:{body}',
]

/** The same signature over different content. */
export function* otherContents(description: CheckedDescription): Iterable<Alternative> {
  const { signature, timestamp } = description
  if (!isDigest(signature) || signature.covers !== 'body' || signature.content.includes('{secret}')) return
  for (const content of CONTENTS) {
    if (content === signature.content) continue
    const isDated = content.includes('{timestamp}')
    if (isDated && timestamp === undefined) continue
    yield {
      diagnosis: `another version of the scheme: the signed content is ${content}, but this source expects ${signature.content}`,
      input: {
        description: {
          ...description,
          signature: { ...signature, content },
          timestamp: isDated ? timestamp : undefined,
        },
      },
    }
  }
}

interface Candidate {
  /** The name of the list item, or the prefix. */
  readonly field: string
  readonly value: string
}

type Format = Exclude<DigestSignature['format'], { readonly kind: 'values' }>

function candidates(text: string, format: Format): Candidate[] {
  if (format.kind === 'bare') {
    const [, field = '', value = ''] = /^([A-Za-z][\w-]{0,15}[=,: ])?(.*)$/s.exec(text.trim()) ?? []
    return [{ field, value: value.trim() }]
  }
  return text
    .split(format.itemSeparator, MAX_CANDIDATES)
    .map((item) => {
      const cut = item.indexOf(format.fieldSeparator)
      return { field: item.slice(0, Math.max(cut, 0)).trim(), value: item.slice(cut + 1).trim() }
    })
    .filter(({ field }) => field !== '')
}

function readingsOf(value: string): { encoding: Encoding; algorithm: Algorithm }[] {
  const shapes: [encoding: Encoding, shape: RegExp][] = [
    ['hex', /^[0-9A-Fa-f]+$/],
    ['base64', /^[A-Za-z0-9+/]+={0,2}$/],
    ['base64url', /^[A-Za-z0-9_-]+={0,2}$/],
  ]
  return shapes.flatMap(([encoding, shape]) => {
    const algorithm = shape.test(value) ? HMACS.get(Buffer.from(value, encoding).length) : undefined
    return algorithm === undefined ? [] : [{ encoding, algorithm }]
  })
}

function differences(
  { encoding, algorithm, format }: Omit<DigestSignature, 'format'> & { readonly format: Format },
  read: { readonly encoding: Encoding; readonly algorithm: Algorithm; readonly field: string },
): string {
  const field = format.kind === 'list' ? format.signatureField : format.prefix
  return [
    read.algorithm === algorithm ? '' : `the algorithm is ${read.algorithm}, not ${algorithm}`,
    read.encoding === encoding ? '' : `the encoding is ${read.encoding}, not ${encoding}`,
    read.field === field ? '' : `the signature is under "${read.field}", not "${field}"`,
  ]
    .filter(Boolean)
    .join('; ')
}
