import { randomUUID } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'
import type { Delivery, Source } from './contract.ts'
import type { CheckedDescription } from './description.ts'
import { partsOf, placeholdersOf, templatePieces } from './places.ts'
import { digester } from './schemes/digest.ts'
import type { Endpoint } from './schemes/endpoint.ts'
import { signToken } from './schemes/jwt.ts'
import type { SigningKey } from './schemes/key.ts'
import type { Keyring } from './schemes/keyring.ts'
import { arraySteps } from './schemes/locate.ts'
import { bodyParser, looksLikeJson, writeBody } from './schemes/payload.ts'
import { proofParser } from './schemes/proof.ts'
import { encodeSignature } from './schemes/signature-header.ts'
import { signedContentRenderer } from './schemes/signed-content.ts'
import { formatTimestamp } from './schemes/timestamp.ts'
import { tokenText } from './schemes/token.ts'
import { type DigestSignature, isDigest, type Signature } from './signature.ts'

/** A delivery to be signed as the provider signs. */
export interface Sample {
  readonly body: Uint8Array | string
  /** The date of the signature. Default: now. */
  readonly timestampMs?: number
  /** Additional headers of the provider, such as `x-github-event`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The event key, if the provider sends it in a header. Default: a random key. */
  readonly id?: string
  /** Path and query of the request. Default: `/`. */
  readonly url?: string
}

/** A sample with its signature in the provider's place: a header, the body or the query. */
export interface SignedDelivery {
  readonly method: 'POST'
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
}

/**
 * A source that can also act as its sender: for tests, `hookonce dev`, and ready-made curl lines.
 */
export interface SigningSource<
  Payload = unknown,
  Subject = unknown,
  Type extends string = string,
  Shapes = unknown,
> extends Source<Payload, Subject, Type, Shapes> {
  /** How the provider signs and names its events. */
  readonly description: CheckedDescription
  /** All headers of the signed delivery, by lower-case name. Signs with the first secret. */
  sign(sample: Sample): Record<string, string>
  /** The whole signed delivery, because some providers sign in the body or in the query. */
  deliver(sample: Sample): SignedDelivery
}

/**
 * Signs a sample delivery for a source.
 *
 * ```ts
 * const body = JSON.stringify({ id: 'evt_1', type: 'invoice.paid' })
 * await fetch(url, { method: 'POST', body, headers: sign(source, { body }) })
 * ```
 */
export function sign(source: SigningSource, sample: Sample): Record<string, string> {
  return source.sign(sample)
}

interface SignerInput {
  readonly description: CheckedDescription
  readonly keyring: Keyring
  readonly endpoint: Endpoint
}

/** The request while it is being built. */
interface Draft {
  readonly description: CheckedDescription
  readonly headers: Record<string, string>
  url: string
  body: Buffer
  readonly timestampMs: number
}

export function signer({ description, keyring, endpoint }: SignerInput): (sample: Sample) => SignedDelivery {
  return (sample) => {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const draft = draftOf(description, sample)
    const { signature } = description
    if (signature.algorithm === 'token' || signature.algorithm === 'basic')
      eachPlace(draft, (event) => put(event, tokenText(signature, key.key.export().toString())))
    else if (signature.algorithm === 'jwt') {
      const { body, timestampMs } = draft
      put([draft], signToken(signature, key, { body, url: endpoint.urlOf(deliveryOf(draft)), timestampMs }))
    } else if (signature.algorithm !== 'coded')
      eachPlace(draft, (event) => put(event, signatureOf(event, signature, key, endpoint)))
    const { url, headers, body } = draft
    return { method: 'POST', url, headers, body }
  }
}

function contentTypeOf(kind: CheckedDescription['body'], body: Sample['body']): string {
  if (kind === 'json' || kind === 'xml') return `application/${kind}`
  const isEither = typeof kind === 'object' && 'jsonOr' in kind
  return isEither && looksLikeJson(Buffer.from(body))
    ? 'application/json'
    : 'application/x-www-form-urlencoded'
}

function draftOf(description: CheckedDescription, sample: Sample): Draft {
  const { event, body: bodyKind, timestamp } = description
  const headers: Record<string, string> = { 'content-type': contentTypeOf(bodyKind, sample.body) }
  for (const [name, value] of Object.entries(sample.headers ?? {})) headers[name.toLowerCase()] = value
  const keyHeader = headerOf(event.key)
  if (keyHeader !== undefined) headers[keyHeader] = sample.id ?? headers[keyHeader] ?? randomUUID()
  for (const name of signedHeaderNames(description)) headers[name] ??= randomUUID()
  const draft: Draft = {
    description,
    headers,
    url: sample.url ?? '/',
    body: Buffer.from(sample.body),
    timestampMs: sample.timestampMs ?? Date.now(),
  }
  if (timestamp === undefined) return draft
  const text = formatTimestamp(draft.timestampMs, timestamp.unit)
  const timestampHeader = headerOf(timestamp.at)
  if (timestampHeader !== undefined) headers[timestampHeader] = text
  if (timestamp.at.startsWith('json:'))
    setInBody(draft, partsOf(timestamp.at)[1].split('.'), timestamp.unit === 'iso' ? text : Number(text))
  return draft
}

/** The names of headers that are part of the signed content. Missing headers get a random value. */
function signedHeaderNames({ signature }: CheckedDescription): string[] {
  if (!isDigest(signature)) return []
  return templatePieces(signature.content).flatMap(({ placeholder = '' }) => headerOf(placeholder) ?? [])
}

/**
 * The draft, or one event of it if each event is signed on its own: `only` is its index in the
 * batch.
 */
type Signable = readonly [draft: Draft, only?: number]

function eachPlace(draft: Draft, sign: (event: Signable) => void): void {
  if (draft.description.signedPer === 'delivery') return sign([draft])
  const count = eventsIn(draft).length
  for (let index = 0; index < count; index++) sign([draft, index])
}

function signatureOf(
  [draft, only]: Signable,
  signature: DigestSignature,
  key: SigningKey,
  endpoint: Endpoint,
): string {
  const { description, timestampMs } = draft
  const { timestamp } = description
  const signedAt = timestamp === undefined ? '' : formatTimestamp(timestampMs, timestamp.unit)
  const { format } = signature
  const names = format.kind === 'list' && format.headersField !== undefined ? 'content-type' : undefined
  const seen = only === undefined ? deliveryOf(draft) : deliveryOf(alone(draft, only))
  const secret = signature.content.includes('{secret}') ? key.key.export().toString() : ''
  const render = signedContentRenderer(signature.content, description, endpoint)
  const parse = proofParser(placeholdersOf(signature.content), description)
  const named = namedItems(signature.content)
  const content = render(seen, parse(seen), { timestamp: signedAt, headers: names, named, secret })
  if ('ok' in content) throw new HookonceError(content.code, content.detail)
  const body = signature.content.includes('{body}') ? draft.body : new Uint8Array()
  const pair = key.key.type === 'public' ? signature.asymmetric : undefined
  const made = digester(pair ? 'ed25519' : signature.algorithm).make(key, content, body)
  const encoded = encodeSignature(made, signature.encoding)

  if (format.kind === 'bare') return format.prefix + encoded
  if (format.kind === 'values')
    return timestamp?.at === 'field:1' ? `${signedAt}${format.separator}${encoded}` : encoded
  const items: [field: string, value: string][] = [
    ...named,
    [pair?.signatureField ?? format.signatureField, encoded],
  ]
  if (format.headersField !== undefined && names !== undefined) items.unshift([format.headersField, names])
  if (timestamp?.at.startsWith('field:')) items.unshift([partsOf(timestamp.at)[1], signedAt])
  return items.map((item) => item.join(format.fieldSeparator)).join(format.itemSeparator[0])
}

/** Random values for the items of the signature header that the content names. */
function namedItems(content: string): ReadonlyMap<string, string> {
  const names = placeholdersOf(content).filter((placeholder) => placeholder.startsWith('field:'))
  return new Map(names.map((name) => [name.slice('field:'.length), randomUUID()]))
}

/** Writes the signature to the provider's place. */
function put([draft, only]: Signable, text: string): void {
  const [kind, rest] = placeOf(draft.description.signature)
  if (kind === 'header') draft.headers[rest.toLowerCase()] = text
  else if (kind === 'query') {
    const mark = draft.url.includes('?') ? '&' : '?'
    draft.url += `${mark}${encodeURIComponent(rest)}=${encodeURIComponent(text)}`
  } else if (kind === 'item') {
    setInBody(draft, [...itemSteps(draft.description, only ?? 0), ...rest.split('.')], text)
  } else setInBody(draft, kind === 'form' ? [rest] : rest.split('.'), text)
}

function placeOf(signature: Signature): [kind: string, rest: string] {
  if (signature.algorithm === 'basic') return ['header', 'authorization']
  if (!('header' in signature) && !('at' in signature)) return ['header', 'authorization']
  if (signature.at !== undefined) return partsOf(signature.at)
  return ['header', [signature.header ?? ''].flat()[0] ?? '']
}

function deliveryOf({ headers, url, body, timestampMs }: Draft): Delivery {
  return { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: timestampMs }
}

function eventsIn(draft: Draft): unknown[] {
  const steps = itemSteps(draft.description, 0).slice(0, -1)
  let value: unknown = payloadOf(draft)
  for (const step of steps) value = (value as Record<string, unknown>)[step]
  return Array.isArray(value) ? value : []
}

function alone(draft: Draft, only: number): Draft {
  const copy = { ...draft }
  setInBody(copy, itemSteps(draft.description, 0).slice(0, -1), [eventsIn(draft)[only]])
  return copy
}

function itemSteps({ batch }: CheckedDescription, index: number): string[] {
  const steps = arraySteps([batch ?? 'json:[]'].flat()[0] ?? '').map((step) => (step === '[]' ? '0' : step))
  return [...steps.slice(0, -1), String(index)]
}

function payloadOf({ description, headers, body }: Draft): object {
  const payload = bodyParser(description.body)(deliveryOf({ headers, body } as Draft))
  if (payload === undefined)
    throw new HookonceError(
      'BODY_UNPARSABLE',
      'this provider signs inside the body; pass a sample body in its format',
    )
  return payload
}

/** Sets a value in the body and serialises it again. Needed only for signatures inside the body. */
function setInBody(draft: Draft, steps: readonly string[], value: unknown): void {
  const payload = payloadOf(draft)
  const last = steps.at(-1) ?? ''
  let at = payload as Record<string, unknown>
  for (const step of steps.slice(0, -1)) {
    if (typeof at[step] !== 'object' || at[step] === null) at[step] = {}
    at = at[step] as Record<string, unknown>
  }
  at[last] = value
  draft.body = Buffer.from(writeBody(payload, draft.description.body))
}

/** The header that a place names, if it is a header. Of several places, the first. */
function headerOf(place: unknown): string | undefined {
  const locator: unknown = Array.isArray(place) ? place[0] : place
  if (typeof locator !== 'string' || !locator.startsWith('header:')) return undefined
  return locator.slice('header:'.length).toLowerCase()
}
