import { randomUUID } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'
import type { Source } from './contract.ts'
import type { CheckedDescription } from './description.ts'
import type { SigningKey } from './schemes/key.ts'
import { signedContentRenderer } from './schemes/signed-content.ts'
import { formatTimestamp } from './schemes/timestamp.ts'

/** A delivery to be signed as the provider would. */
export interface Sample {
  readonly body: Uint8Array | string
  /** The date of the signature; now, if it is left out. */
  readonly timestampMs?: number
  /** Headers that the provider would send besides, such as `x-github-event`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The event key, where the provider sends it in a header; a random one, if it is left out. */
  readonly id?: string
}

/** A source that can also play its sender: for tests, for `hookonce dev`, for a ready-made curl line. */
export interface SigningSource<Payload = unknown, Subject = unknown, Type extends string = string>
  extends Source<Payload, Subject, Type> {
  /** All headers of the signed delivery, by lower-case name. Signs with the first secret. */
  sign(sample: Sample): Record<string, string>
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

export function signer(
  description: CheckedDescription,
  key: SigningKey,
): (sample: Sample) => Record<string, string> {
  const { signature, timestamp, event } = description
  const renderContent = signedContentRenderer(signature.content)

  return (sample) => {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    for (const [name, value] of Object.entries(sample.headers ?? {})) headers[name.toLowerCase()] = value
    const keyHeader = headerOf(event.key)
    if (keyHeader !== undefined) headers[keyHeader] = sample.id ?? headers[keyHeader] ?? randomUUID()
    const signedAt =
      timestamp === undefined ? '' : formatTimestamp(sample.timestampMs ?? Date.now(), timestamp.unit)
    const timestampHeader = headerOf(timestamp?.at)
    if (timestampHeader !== undefined) headers[timestampHeader] = signedAt

    const content = renderContent({ header: (name) => headers[name] }, signedAt)
    if ('ok' in content) throw new HookonceError(content.code, content.detail)
    const body = typeof sample.body === 'string' ? Buffer.from(sample.body) : sample.body
    const encoded = key.hmac(content.before, body, content.after).toString(signature.encoding)
    headers[signature.header] = signatureHeader(description, encoded, signedAt)
    return headers
  }
}

/** Writes the header that schemes/signature-header.ts reads. */
function signatureHeader(
  { signature, timestamp }: CheckedDescription,
  encoded: string,
  signedAt: string,
): string {
  const { format } = signature
  if (format.kind === 'bare') return format.prefix + encoded
  const items = [`${format.signatureField}${format.fieldSeparator}${encoded}`]
  if (timestamp?.at.startsWith('field:')) {
    items.unshift(`${timestamp.at.slice('field:'.length)}${format.fieldSeparator}${signedAt}`)
  }
  return items.join(format.itemSeparator)
}

/** The header that a place names, if it is a header: of several places, the first. */
function headerOf(place: unknown): string | undefined {
  const locator: unknown = Array.isArray(place) ? place[0] : place
  if (typeof locator !== 'string' || !locator.startsWith('header:')) return undefined
  return locator.slice('header:'.length).toLowerCase()
}
