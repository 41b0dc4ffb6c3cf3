import * as buffer from 'node:buffer'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { looksLikeJson, parseJson } from '../schemes/payload.ts'
import { type Alternative, withBody } from './alternatives.ts'
import { unpackedBody } from './compressed.ts'
import { jsonSpellings } from './json-spellings.ts'
import { otherOrders } from './key-order.ts'

/*
 * Bodies that this one may have been before it was changed on the way: frameworks parse and
 * serialise again, proxies trim, editors and shells add a line break, decoders use the wrong
 * charset.
 */

const LF = 0x0a
const CR = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Serialising JSON again costs about this many times as much as reading its bytes. */
const JSON_COST = 10

/** Indented JSON grows with its depth. Both limits bound the cost of serialising it again. */
const MAX_JSON_BYTES = 256 * 1024
const MAX_DEPTH = 16

/** Recognises bodies that cannot be the sender's, without trying anything. */
export function parsedBody(delivery: Delivery): string | undefined {
  const { body } = delivery
  if (body.length === 0) {
    return Number(delivery.header('content-length') ?? 0) > 0
      ? 'the body was read before it reached us: hand over the raw bytes, mount hookonce before any body parser'
      : 'the body is empty: something on the way read it, or a redirect dropped it'
  }
  const start = textOf(body.subarray(0, 32))
  if (start.startsWith('[object Object]'))
    return 'the body is "[object Object]": a parsed body was turned into text; hand over the raw bytes'
  if (/^\{"type":"Buffer","data":\[/.test(start))
    return 'the body is a Buffer written as JSON: hand over the Buffer itself'
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
      says: 'a line break was added to the end of the body on its way (curl --data-binary keeps bytes as they are)',
      delivery: withBody(delivery, bare),
      cost,
    }
  for (const [name, added] of [
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ] as const)
    yield {
      says: `the line break at the end of the body (${name}) was cut off on its way`,
      delivery: withBody(delivery, Buffer.concat([bare, Buffer.from(added)])),
      cost,
    }
  const text = Buffer.from(body).toString('latin1')
  if (text.includes('\r\n'))
    yield {
      says: 'the line breaks of the body were changed from LF to CR LF on its way',
      delivery: withBody(delivery, Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1')),
      cost,
    }
  else if (text.includes('\n'))
    yield {
      says: 'the line breaks of the body were changed from CR LF to LF on its way',
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
      says: 'a byte order mark was put before the body on its way',
      delivery: withBody(delivery, body.subarray(BOM.length)),
      cost,
    }
  if (body.every((byte) => byte < 0x80)) return
  if (buffer.isUtf8(body)) {
    const text = textOf(body)
    if (!/[^\u0000-\u00ff]/.test(text))
      yield {
        says: 'the body was taken for ISO 8859-1 and written again as UTF-8 on its way',
        delivery: withBody(delivery, Buffer.from(text, 'latin1')),
        cost,
      }
  } else {
    yield {
      says: 'the body was written again in ISO 8859-1 on its way: it was UTF-8',
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
      says: `the body was parsed and written again before it reached us: it was ${how}; hand over the raw bytes`,
      delivery: withBody(delivery, Buffer.from(text)),
      cost: text.length * JSON_COST,
    }
  }
  for (const other of otherOrders(payload)) {
    const text = write(other)
    yield {
      says: 'the body was parsed and written again before it reached us: its names stood in another order; hand over the raw bytes',
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
      says: 'the body is JSON that was encoded as a form on its way: set the content type to application/json',
      delivery: withBody(delivery, Buffer.from(decoded)),
      cost: body.length,
    }
  } catch {
    // An invalid percent escape: not such a form.
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
    [new URLSearchParams(text).toString(), 'it was encoded as browsers do'],
  ]
  const parsed = parseJson(body)
  if (parsed !== undefined && !Array.isArray(parsed)) {
    // Strings only: converting an unknown sender's object to text can throw.
    const fields = Object.entries(parsed).filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    )
    spellings.push([new URLSearchParams(fields).toString(), 'it was a form, and is JSON now'])
  }
  for (const [spelling, how] of spellings) {
    if (spelling !== text)
      yield {
        says: `the form was parsed and written again before it reached us: ${how}; hand over the raw bytes`,
        delivery: withBody(delivery, Buffer.from(spelling)),
        cost,
      }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
