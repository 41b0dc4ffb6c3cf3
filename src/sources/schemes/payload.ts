import * as buffer from 'node:buffer'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { partsOf, pathSteps } from '../places.ts'
import { formFields } from './form.ts'
import { outlineOf } from './outline.ts'
import { parseXmlText, writeXml } from './xml.ts'

/** The parsed body of a delivery. Undefined if the body does not have the form of this provider. */
export type ParseBody = (delivery: Delivery) => object | undefined

type Body = CheckedDescription['body']

export function bodyParser(body: Body): ParseBody {
  if (body === 'json') return (delivery) => parseJson(delivery.body)
  if (body === 'form') return formFields
  if (body === 'xml')
    return (delivery) => (buffer.isUtf8(delivery.body) ? parseXmlText(textOf(delivery.body)) : undefined)
  if (body === 'coded') return () => undefined
  if ('jsonOr' in body) {
    const parseForm = bodyParser(body.jsonOr)
    return (delivery) => (looksLikeJson(delivery.body) ? parseJson(delivery.body) : parseForm(delivery))
  }
  const field = body.form
  return (delivery) => {
    const json = formFields(delivery)?.[field]
    return typeof json === 'string' ? parseJsonText(json) : undefined
  }
}

/**
 * Decides whether a body is JSON or a form by its first character. No form field name begins like
 * an object or array, and the content type is not signed.
 */
export function looksLikeJson(body: Uint8Array): boolean {
  const first = body.find((code) => code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d)
  return first === 0x7b || first === 0x5b
}

/**
 * The JSON text of a body. `field` is the form field that contained it. 'form' means a form without
 * JSON.
 */
interface JsonBody {
  readonly text: string
  readonly field: string | undefined
}

/**
 * Reads the text to which the places of a description refer. Undefined if there is no readable
 * text.
 */
export function jsonReader(body: Body): (delivery: Delivery) => JsonBody | 'form' | undefined {
  if (body === 'form') return () => 'form'
  if (typeof body === 'string')
    return (delivery) =>
      buffer.isUtf8(delivery.body) ? { text: textOf(delivery.body), field: undefined } : undefined
  if ('jsonOr' in body) {
    const [json, form] = [jsonReader('json'), jsonReader(body.jsonOr)]
    return (delivery) => (looksLikeJson(delivery.body) ? json : form)(delivery)
  }
  const field = body.form
  return (delivery) => {
    const text = formFields(delivery)?.[field]
    return text === undefined ? undefined : { text, field }
  }
}

/**
 * Parses only these places of a body. Undefined if the whole body must be parsed: to find one event
 * of a batch, or the fields of a form.
 */
export function partialParser(
  places: readonly string[],
  { batch, body }: Pick<CheckedDescription, 'batch' | 'body'>,
): ParseBody | undefined {
  if (batch !== undefined) return undefined
  if (body !== 'json' && !(typeof body === 'object' && 'jsonOr' in body)) return undefined
  const paths = places.map(partsOf).filter(([kind]) => kind === 'json')
  const outline = outlineOf(paths.map(([, path]) => pathSteps(path)))
  if (body === 'json') return (delivery) => outline(delivery.body)
  const parseForm = bodyParser(body.jsonOr)
  return (delivery) => (looksLikeJson(delivery.body) ? outline(delivery.body) : parseForm(delivery))
}

/** Parses JSON: an object or an array in valid UTF-8. Anything else returns undefined. */
export function parseJson(body: Uint8Array): object | undefined {
  // Decoding would replace invalid bytes, and two different bodies could become equal.
  if (!buffer.isUtf8(body)) return undefined
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
    // Not only a SyntaxError: a body that is too deep or too large for the engine is a RangeError.
    return undefined
  }
}

/** Serialises a payload, for samples. */
export function writeBody(payload: object, body: CheckedDescription['body']): string {
  // Providers with a coded body serialise it in their own code.
  if (body === 'json' || body === 'coded' || (typeof body === 'object' && 'jsonOr' in body))
    return JSON.stringify(payload)
  if (body === 'xml') return writeXml(payload)
  const fields =
    body === 'form' ? (payload as Record<string, string>) : { [body.form]: JSON.stringify(payload) }
  return new URLSearchParams(fields).toString()
}

const WANTED = { json: 'a JSON object or array in UTF-8', xml: 'XML in UTF-8' }

// Contains nothing of the body itself, because this goes to the log.
export function describeUnparsable(delivery: Delivery, body: CheckedDescription['body']): string {
  const contentType = delivery.header('content-type')?.slice(0, 80) ?? 'none'
  const isEither = typeof body === 'object' && 'jsonOr' in body
  const form = isEither
    ? `${WANTED.json}, nor the form that this provider sends`
    : 'the form that this provider sends'
  const wanted = body === 'json' || body === 'xml' ? WANTED[body] : form
  return `not ${wanted} (${delivery.body.length} bytes, content-type: ${contentType})`
}
