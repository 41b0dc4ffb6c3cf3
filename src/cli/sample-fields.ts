import type { CheckedDescription } from '../sources/description.ts'
import { parseXmlText, writeXml } from '../sources/schemes/xml.ts'
import { type Command, usageError } from './command.ts'

/** One field of a sample that is to hold something else. */
export interface Override {
  readonly path: readonly string[]
  readonly value: unknown
}

/** `data.object.amount=100`: the value as JSON where it is JSON, and else as text. */
export function overridesOf(command: Pick<Command, 'usage'>, given: readonly string[]): Override[] {
  return given.map((text) => {
    const cut = text.indexOf('=')
    const path = text.slice(0, Math.max(cut, 0)).split('.')
    if (path.some((step) => step === '' || step === '__proto__'))
      throw usageError(command, `--override is written as a.b=value, not "${text}"`)
    return { path, value: parsed(text.slice(cut + 1)) }
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The body with its overrides. */
export function overridden(
  body: Uint8Array | string,
  kind: CheckedDescription['body'],
  overrides: readonly Override[],
): Uint8Array | string {
  if (overrides.length === 0) return body
  const text = Buffer.from(body).toString('utf8')
  // What only code can read is sampled as JSON, too: the code writes it.
  const isJson = kind === 'json' || kind === 'coded' || (typeof kind === 'object' && 'jsonOr' in kind)
  if (isJson) return JSON.stringify(applied(JSON.parse(text), overrides))
  if (kind === 'xml') return writeXml(applied(parseXmlText(text), overrides))
  const form = new URLSearchParams(text)
  if (kind === 'form')
    for (const { path, value } of overrides)
      form.set(path.join('.'), typeof value === 'string' ? value : JSON.stringify(value))
  else form.set(kind.form, JSON.stringify(applied(JSON.parse(form.get(kind.form) ?? '{}'), overrides)))
  return form.toString()
}

function applied(payload: unknown, overrides: readonly Override[]): unknown {
  const root = { payload }
  for (const { path, value } of overrides) {
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
