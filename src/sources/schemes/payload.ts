import { isUtf8 } from 'node:buffer'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { formFields } from './form.ts'

/** The parsed body of a delivery, or nothing where it is not what this provider sends. */
export type ParseBody = (delivery: Delivery) => object | undefined

export function bodyParser(body: CheckedDescription['body']): ParseBody {
  if (body === 'json') return (delivery) => parseJson(delivery.body)
  if (body === 'form') return formFields
  const field = body.form
  return (delivery) => {
    const json = formFields(delivery)?.[field]
    return typeof json === 'string' ? parseJsonText(json) : undefined
  }
}

/** JSON: an object or an array, in valid UTF-8; anything else is `undefined`. */
function parseJson(body: Uint8Array): object | undefined {
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

// Says nothing of the body itself: this goes to the log.
export function describeUnparsable(delivery: Delivery, body: CheckedDescription['body']): string {
  const contentType = delivery.header('content-type')?.slice(0, 80) ?? 'none'
  const wanted = body === 'json' ? 'a JSON object or array in UTF-8' : 'the form that this provider sends'
  return `not ${wanted} (${delivery.body.length} bytes, content-type: ${contentType})`
}
