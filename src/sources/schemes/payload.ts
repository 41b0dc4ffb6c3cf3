import { isUtf8 } from 'node:buffer'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { partsOf } from '../places.ts'
import { formFields } from './form.ts'
import { outlineOf } from './outline.ts'
import { parseXmlText, writeXml } from './xml.ts'

/** The parsed body of a delivery, or nothing where it is not what this provider sends. */
export type ParseBody = (delivery: Delivery) => object | undefined

export function bodyParser(body: CheckedDescription['body']): ParseBody {
  if (body === 'json') return (delivery) => parseJson(delivery.body)
  if (body === 'form') return formFields
  if (body === 'xml')
    return (delivery) => (isUtf8(delivery.body) ? parseXmlText(textOf(delivery.body)) : undefined)
  if (body === 'coded') return () => undefined
  const field = body.form
  return (delivery) => {
    const json = formFields(delivery)?.[field]
    return typeof json === 'string' ? parseJsonText(json) : undefined
  }
}

/**
 * Only these places of a body, without the rest of it; undefined where it must be parsed as a whole: to find one event of
 * a batch, or the fields of a form.
 */
export function glanceAt(
  places: readonly string[],
  { batch, body }: Pick<CheckedDescription, 'batch' | 'body'>,
): ParseBody | undefined {
  if (batch !== undefined || body !== 'json') return undefined
  const paths = places.map(partsOf).filter(([kind]) => kind === 'json')
  const outline = outlineOf(paths.map(([, path]) => path.split('.')))
  return (delivery) => outline(delivery.body)
}

/** JSON: an object or an array, in valid UTF-8; anything else is `undefined`. */
export function parseJson(body: Uint8Array): object | undefined {
  // Decoding would replace invalid bytes, and two different bodies could read the same.
  if (!isUtf8(body)) return undefined
  return parseJsonText(textOf(body))
}

export function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
}

export function parseJsonText(text: string): object | undefined {
  try {
    const payload: unknown = JSON.parse(text)
    return typeof payload === 'object' && payload !== null ? payload : undefined
  } catch {
    // Not only a SyntaxError: a body nested or sized beyond what the engine takes is a RangeError.
    return undefined
  }
}

/** The other way round, for samples. */
export function writeBody(payload: object, body: CheckedDescription['body']): string {
  // Code that reads a body of its own writes it, too.
  if (body === 'json' || body === 'coded') return JSON.stringify(payload)
  if (body === 'xml') return writeXml(payload)
  const fields =
    body === 'form' ? (payload as Record<string, string>) : { [body.form]: JSON.stringify(payload) }
  return new URLSearchParams(fields).toString()
}

const WANTED = { json: 'a JSON object or array in UTF-8', xml: 'XML in UTF-8' }

// Says nothing of the body itself: this goes to the log.
export function describeUnparsable(delivery: Delivery, body: CheckedDescription['body']): string {
  const contentType = delivery.header('content-type')?.slice(0, 80) ?? 'none'
  const wanted = body === 'json' || body === 'xml' ? WANTED[body] : 'the form that this provider sends'
  return `not ${wanted} (${delivery.body.length} bytes, content-type: ${contentType})`
}
