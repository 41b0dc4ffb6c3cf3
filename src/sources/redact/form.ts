import * as buffer from 'node:buffer'
import { textOf } from '../schemes/payload.ts'
import type { RedactJson } from './json.ts'
import { MARKER } from './marker.ts'

export interface FormRules {
  readonly fields: ReadonlySet<string>
  /** The field that contains JSON, and the rules for it. */
  readonly json?: { readonly field: string; readonly redact: RedactJson } | undefined
}

/**
 * Replaces the values of fields of a urlencoded form. All other bytes stay unchanged. Undefined:
 * the body is not such a form.
 */
export function redactForm(body: Uint8Array, { fields, json }: FormRules): Uint8Array | undefined {
  if (!buffer.isUtf8(body)) return undefined
  const pairs: string[] = []
  for (const pair of textOf(body).split('&')) {
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    // The parser of forms ignores a leading question mark.
    const name = decoded(rawName).replace(/^\?/, '')
    if (fields.has(name)) pairs.push(`${rawName}=${encodeURIComponent(MARKER)}`)
    else if (json?.field === name) {
      const value = decoded(equals < 0 ? '' : pair.slice(equals + 1))
      const redacted = json.redact(Buffer.from(value))
      if (redacted === undefined) return undefined
      const text = textOf(redacted)
      // Keeps the sender's own spelling if nothing was replaced.
      pairs.push(text === value ? pair : `${rawName}=${encodeURIComponent(text)}`)
    } else pairs.push(pair)
  }
  return Buffer.from(pairs.join('&'))
}

/** Decodes like the parser of forms: `+` is a space, and a broken escape stays. */
function decoded(text: string): string {
  return new URLSearchParams(`x=${text}`).get('x') ?? ''
}
