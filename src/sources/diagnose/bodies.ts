import * as buffer from 'node:buffer'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { looksLikeJson, parseJson } from '../schemes/payload.ts'
import { type Alternative, withBody } from './alternatives.ts'
import { unpackedBody } from './compressed.ts'
import { jsonSpellings } from './json-spellings.ts'
import { otherOrders } from './key-order.ts'

/*
 * Possible originals of a body that was changed in transit: frameworks parse and serialise again,
 * proxies trim, editors and shells add a line break, decoders use the wrong charset.
 */

const LF = 0x0a
const CR = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Serialising JSON again costs about this many times as much as reading its bytes. */
const JSON_COST = 10

/** Indented JSON grows with its depth. Both limits bound the cost of serialising it again. */
const MAX_JSON_BYTES = 256 * 1024
const MAX_DEPTH = 16

/** Recognises bodies that cannot come from the sender, without trying anything. */
export function parsedBody(delivery: Delivery): string | undefined {
  const { body } = delivery
  if (body.length === 0) {
    return Number(delivery.header('content-length') ?? 0) > 0
      ? 'the body was already read: mount hookonce before any body parser, and pass the raw bytes'
      : 'the body is empty: a middleware read it, or a redirect dropped it'
  }
  const start = textOf(body.subarray(0, 32))
  if (start.startsWith('[object Object]'))
    return 'the body is "[object Object]": a parsed body was converted to text; pass the raw bytes'
  if (/^\{"type":"Buffer","data":\[/.test(start))
    return 'the body is a Buffer serialised as JSON: pass the Buffer itself'
  return undefined
}

export function* otherBodies(delivery: Delivery, { body: kind }: CheckedDescription): Iterable<Alternative> {
  yield* unpackedBody(delivery)
  yield* otherLineBreaks(delivery)
  yield* otherCharsets(delivery)
  if (isJson(kind, delivery.body)) yield* otherJson(delivery)
  else yield* otherForms(delivery)
}

/** Whether a body is JSON. If its provider also sends forms, the first character decides. */
export function isJson(kind: CheckedDescription['body'], body: Uint8Array): boolean {
  return kind === 'json' || (typeof kind === 'object' && 'jsonOr' in kind && looksLikeJson(body))
}

function* otherLineBreaks(delivery: Delivery): Iterable<Alternative> {
  const { body } = delivery
  const cost = body.length
  const last = body.at(-1)
  const bare = body.subarray(0, endWithoutBreaks(body))
  if (last === LF || last === CR)
    yield {
      diagnosis:
        'a line break was added to the end of the body on the way (curl --data-binary does not change the bytes)',
      delivery: withBody(delivery, bare),
      cost,
    }
  for (const [name, added] of [
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ] as const)
    yield {
      diagnosis: `the line break at the end of the body (${name}) was removed on the way`,
      delivery: withBody(delivery, Buffer.concat([bare, Buffer.from(added)])),
      cost,
    }
  const text = Buffer.from(body).toString('latin1')
  if (text.includes('\r\n'))
    yield {
      diagnosis: 'the line breaks of the body were changed from LF to CR LF on the way',
      delivery: withBody(delivery, Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1')),
      cost,
    }
  else if (text.includes('\n'))
    yield {
      diagnosis: 'the line breaks of the body were changed from CR LF to LF on the way',
      delivery: withBody(delivery, Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')),
      cost,
    }
}

function endWithoutBreaks(body: Uint8Array): number {
  let end = body.length
  while (end > 0 && (body[end - 1] === LF || body[end - 1] === CR)) end -= 1
  return end
}

function* otherCharsets(delivery: Delivery): Iterable<Alternative> {
  const { body } = delivery
  const cost = body.length
  if (BOM.equals(body.subarray(0, BOM.length)))
    yield {
      diagnosis: 'a byte order mark was added before the body on the way',
      delivery: withBody(delivery, body.subarray(BOM.length)),
      cost,
    }
  if (body.every((byte) => byte < 0x80)) return
  if (buffer.isUtf8(body)) {
    const text = textOf(body)
    if (!/[^\u0000-\u00ff]/.test(text))
      yield {
        diagnosis: 'the body was decoded as ISO 8859-1 and encoded as UTF-8 on the way',
        delivery: withBody(delivery, Buffer.from(text, 'latin1')),
        cost,
      }
  } else {
    yield {
      diagnosis: 'the body was converted from UTF-8 to ISO 8859-1 on the way',
      delivery: withBody(delivery, Buffer.from(Buffer.from(body).toString('latin1'), 'utf8')),
      cost,
    }
  }
}

function* otherJson(delivery: Delivery): Iterable<Alternative> {
  const { body } = delivery
  const payload = parseJson(body)
  if (payload === undefined) {
    const wrapped = formAsJson(delivery)
    if (wrapped) yield wrapped
    return
  }
  if (!isWritable(body)) return
  const came = textOf(body)
  let write = (other: object): string => JSON.stringify(other)
  for (const { text, how, write: writeSo } of jsonSpellings(payload)) {
    // Other orders use the same spelling as the received body.
    if (text === came) write = writeSo
    yield {
      diagnosis: `the body was parsed and serialised again before it reached hookonce (the original was ${how}); pass the raw bytes`,
      delivery: withBody(delivery, Buffer.from(text)),
      cost: text.length * JSON_COST,
    }
  }
  for (const other of otherOrders(payload)) {
    const text = write(other)
    yield {
      diagnosis:
        'the body was parsed and serialised again before it reached hookonce (its names were in a different order); pass the raw bytes',
      delivery: withBody(delivery, Buffer.from(text)),
      cost: text.length * JSON_COST,
    }
  }
}

/** Whether valid JSON may be serialised again. Its size and its depth bound the cost. */
export function isWritable(body: Uint8Array): boolean {
  return body.length <= MAX_JSON_BYTES && depthOf(body) <= MAX_DEPTH
}

/** The nesting depth of valid JSON. Checked before serialising, which is recursive. */
function depthOf(body: Uint8Array): number {
  let depth = 0
  let deepest = 0
  let isText = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (isText && byte === 0x5c) at += 1
    else if (byte === 0x22) isText = !isText
    else if (isText) continue
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth)
    else if (byte === 0x5d || byte === 0x7d) depth -= 1
  }
  return deepest
}

/** JSON that arrived as the only field of a form, as `curl -d` and some proxies send it. */
function formAsJson(delivery: Delivery): Alternative | undefined {
  const { body } = delivery
  if (!buffer.isUtf8(body)) return undefined
  const text = textOf(body)
  if (!/^(?:payload=)?%(?:7B|5B)/i.test(text)) return undefined
  try {
    const decoded = decodeURIComponent(text.replace(/^payload=/, '').replaceAll('+', ' '))
    return {
      diagnosis:
        'the body is JSON that was encoded as a form on the way: set the content type to application/json',
      delivery: withBody(delivery, Buffer.from(decoded)),
      cost: body.length,
    }
  } catch {
    // An invalid percent escape: the body is not a form with one JSON field.
    return undefined
  }
}

function* otherForms(delivery: Delivery): Iterable<Alternative> {
  const { body } = delivery
  if (!buffer.isUtf8(body)) return
  const text = textOf(body)
  const cost = body.length
  const spellings: [text: string, how: string][] = [
    [text.replaceAll('%20', '+'), 'spaces were written as +'],
    [text.replaceAll('+', '%20'), 'spaces were written as %20'],
    [new URLSearchParams(text).toString(), 'it was encoded like browsers do'],
  ]
  const parsed = parseJson(body)
  if (parsed !== undefined && !Array.isArray(parsed)) {
    // Strings only: converting an unknown sender's object to text can throw.
    const fields = Object.entries(parsed).filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    )
    spellings.push([new URLSearchParams(fields).toString(), 'it was a form and is now JSON'])
  }
  for (const [spelling, how] of spellings) {
    if (spelling !== text)
      yield {
        diagnosis: `the form was parsed and serialised again before it reached hookonce (${how}); pass the raw bytes`,
        delivery: withBody(delivery, Buffer.from(spelling)),
        cost,
      }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
