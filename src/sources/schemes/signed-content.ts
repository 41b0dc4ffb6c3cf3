import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { isRequestLocator, templatePieces } from '../places.ts'
import type { Endpoint } from './endpoint.ts'
import { formFields } from './form.ts'
import { valueAt } from './locate.ts'
import { listedHeader } from './needed-headers.ts'
import { refuse, refuseHeader } from './refuse.ts'

/**
 * The signed text before and after the body, as byte strings (one character per byte). The body
 * itself is never copied.
 */
export interface SignedContent {
  readonly before: string
  readonly after: string
}

/** The other fields of the signature header. */
export interface SignatureFields {
  readonly timestamp: string
  readonly headers: string | undefined
  /** The items that the content names. */
  readonly named?: ReadonlyMap<string, string> | undefined
  /** The text of the secret, for plain hashes. */
  readonly secret: string
}

type Part = (delivery: Delivery, payload: unknown, fields: SignatureFields) => string | Refusal

/**
 * Renders a content template such as `{header:webhook-id}.{timestamp}.{body}`, except for the body.
 */
export function signedContentRenderer(
  content: string,
  description: Pick<CheckedDescription, 'batch'>,
  endpoint: Endpoint,
): (delivery: Delivery, payload: unknown, fields: SignatureFields) => SignedContent | Refusal {
  const sides: [Part[], Part[]] = [[], []]
  let side = sides[0]
  for (const { literal, placeholder } of templatePieces(content)) {
    if (literal !== '') {
      const text = bytesOf(literal)
      side.push(() => text)
    }
    if (placeholder === 'body') side = sides[1]
    else if (placeholder !== undefined) side.push(partOf(placeholder, description, endpoint))
  }
  const [before, after] = sides
  const nothing: SignedContent = { before: '', after: '' }
  if (before.length === 0 && after.length === 0) return () => nothing

  return (delivery, payload, fields) => {
    const left = render(before, delivery, payload, fields)
    if (typeof left !== 'string') return left
    const right = render(after, delivery, payload, fields)
    if (typeof right !== 'string') return right
    return { before: left, after: right }
  }
}

function partOf(placeholder: string, { batch }: Pick<CheckedDescription, 'batch'>, endpoint: Endpoint): Part {
  switch (placeholder) {
    case 'timestamp':
      return (_delivery, _payload, fields) => fields.timestamp
    case 'secret':
      return (_delivery, _payload, fields) => bytesOf(fields.secret)
    case 'method':
      return (delivery) => delivery.method
    case 'url':
      return (delivery) => bytesOf(endpoint.urlOf(delivery))
    case 'path':
      return (delivery) => bytesOf(pathOf(endpoint.urlOf(delivery)))
    case 'bodySha256':
      return (delivery) => hash('sha256', delivery.body, 'hex')
    case 'signedHeaders':
      return signedHeaders
    case 'sortedForm':
      return sortedForm
  }
  if (placeholder.startsWith('header:')) return headerPart(placeholder.slice('header:'.length).toLowerCase())
  if (placeholder.startsWith('field:')) return fieldPart(placeholder.slice('field:'.length))
  if (!isRequestLocator(placeholder)) {
    const text = bytesOf(endpoint.setting(placeholder.slice('setting:'.length)))
    return () => text
  }
  const read = valueAt(placeholder, batch)
  return (delivery, payload) => {
    const value = read(delivery, payload)
    if (typeof value === 'string') return bytesOf(value)
    // A missing field is signed as an empty text: Adyen's originalReference.
    return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
  }
}

function headerPart(name: string): Part {
  return (delivery) => signedValue(name, delivery.header(name))
}

/** An item of the signature header. The header itself consists of single bytes. */
function fieldPart(name: string): Part {
  return (_delivery, _payload, { named }) => {
    const value = named?.get(name)
    if (!value) return refuse('SIGNATURE_MISSING', `the signed item ${name} of the signature is missing`)
    return /[\u0100-\uffff]/.test(value)
      ? refuse('SIGNATURE_MALFORMED', `the signed item ${name} contains characters that are not single bytes`)
      : value
  }
}

/** Path and query of a URL, as written. */
function pathOf(url: string): string {
  const path = url.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '')
  return path.startsWith('/') ? path : `/${path}`
}

function signedValue(name: string, value: string | undefined): string | Refusal {
  if (!value) return refuseHeader('SIGNATURE_MISSING', name, `the signed header ${name} is missing`)
  // HTTP carries bytes. A character beyond one byte would be truncated, so that two headers shared
  // one signature.
  if (/[\u0100-\uffff]/.test(value))
    return refuseHeader(
      'SIGNATURE_MALFORMED',
      name,
      `the signed header ${name} contains characters that are not single bytes`,
    )
  return value
}

// The limit on listed headers. Providers list only a few.
const MAX_SIGNED_HEADERS = 32

/** The listed names, then the values of those headers: `x-event-id x-event-type.42.order.paid`. */
const signedHeaders: Part = (delivery, _payload, fields) => {
  const names = (fields.headers ?? '').split(' ')
  if (fields.headers === undefined || names.length > MAX_SIGNED_HEADERS)
    return refuse('SIGNATURE_MISSING', 'the list of signed headers is missing or too long')
  let text = bytesOf(fields.headers)
  for (const name of names) {
    const value = signedValue(name.slice(0, 64), listedHeader(delivery, name))
    if (typeof value !== 'string') return value
    text += `.${value}`
  }
  return text
}

/** The fields of the form, sorted by name, each as name and value without a separator. */
const sortedForm: Part = (delivery) => {
  const fields = formFields(delivery) ?? {}
  return bytesOf(
    Object.keys(fields)
      .sort()
      .map((name) => `${name}${fields[name]}`)
      .join(''),
  )
}

function bytesOf(text: string): string {
  // The common case: ASCII is its own bytes.
  if (/^[\0-\x7f]*$/.test(text)) return text
  return Buffer.from(text, 'utf8').toString('latin1')
}

function render(
  parts: readonly Part[],
  delivery: Delivery,
  payload: unknown,
  fields: SignatureFields,
): string | Refusal {
  let text = ''
  for (const part of parts) {
    const piece = part(delivery, payload, fields)
    if (typeof piece !== 'string') return piece
    text += piece
  }
  return text
}
