import type { CheckedDescription } from './description.ts'
import { parseXmlText, writeXml } from './schemes/xml.ts'

/** A field of a sample event's body, and its value. */
export interface SampleField {
  readonly path: readonly string[]
  readonly value: unknown
}

/** The body with these fields set. */
export function withFields(
  body: Uint8Array | string,
  kind: CheckedDescription['body'],
  fields: readonly SampleField[],
): Uint8Array | string {
  if (fields.length === 0) return body
  const text = Buffer.from(body).toString('utf8')
  // A body that only code can parse is edited as JSON, which that code encodes.
  const isJson = kind === 'json' || kind === 'coded' || (typeof kind === 'object' && 'jsonOr' in kind)
  if (isJson) return JSON.stringify(setFields(JSON.parse(text), fields))
  if (kind === 'xml') return writeXml(setFields(parseXmlText(text), fields))
  const form = new URLSearchParams(text)
  if (kind === 'form')
    for (const { path, value } of fields)
      form.set(path.join('.'), typeof value === 'string' ? value : JSON.stringify(value))
  else form.set(kind.form, JSON.stringify(setFields(JSON.parse(form.get(kind.form) ?? '{}'), fields)))
  return form.toString()
}

function setFields(payload: unknown, fields: readonly SampleField[]): unknown {
  const root = { payload }
  for (const { path, value } of fields) {
    let at = root as Record<string, unknown>
    let last = 'payload'
    for (const step of path) {
      if (typeof at[last] !== 'object' || at[last] === null) at[last] = {}
      at = at[last] as Record<string, unknown>
      last = step
    }
    at[last] = value
  }
  return root.payload
}
