import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { readableVersion, type Version } from '../../model/version.ts'
import type { Delivery, Identified, Refusal } from '../contract.ts'
import type { CheckedDescription, Locator } from '../description.ts'
import { type Read, textAt, valueAt } from './locate.ts'
import { refuse } from './refuse.ts'
import { parseOccurredAt } from './timestamp.ts'

type EventDescription = CheckedDescription['event']

// A key leads an index of the ledger and a type is a label of a metric: neither may grow with what a sender puts in.
const MAX_KEY_BYTES = 1024
const MAX_TYPE_BYTES = 255

/** The type of an event whose sender names none: it can be subscribed to like any other. */
const UNKNOWN_TYPE = 'unknown'

/** Who the event is: parse once, then read key, type and the rest from where the description says. */
export function identifier(event: EventDescription): (delivery: Delivery) => Identified | Refusal {
  const keyOf = keyReader(event.key)
  const typeOf = event.type === undefined ? () => undefined : typeReader(event.type)
  const objectIdOf = event.objectId === undefined ? () => undefined : textAt(event.objectId)
  const occurredAtOf = occurredAtReader(event.occurredAt)
  const versionOf = versionReader(event.version)
  const objectOf = event.object === undefined ? wholePayload : valueAt(event.object)
  const keyPlace = JSON.stringify(event.key)

  return (delivery) => {
    const payload = parseBody(delivery.body)
    if (payload === undefined) return refuse('BODY_UNPARSABLE', describeUnparsable(delivery))

    const key = keyOf(delivery, payload)
    if (key === undefined) {
      return refuse('EVENT_KEY_MISSING', `no text and no exact number at ${keyPlace}`)
    }
    if (!fits(key, MAX_KEY_BYTES)) return refuse('EVENT_KEY_TOO_LONG', `longer than ${MAX_KEY_BYTES} bytes`)
    const type = typeOf(delivery, payload) ?? UNKNOWN_TYPE
    if (!fits(type, MAX_TYPE_BYTES))
      return refuse('EVENT_TYPE_TOO_LONG', `longer than ${MAX_TYPE_BYTES} bytes`)
    const objectId = objectIdOf(delivery, payload)

    return {
      ok: true,
      key,
      type,
      // Only a hint for people and for ordering: one that is no id is left out, the event is not refused for it.
      objectId: objectId !== undefined && fits(objectId, MAX_KEY_BYTES) ? objectId : undefined,
      occurredAtMs: occurredAtOf(delivery, payload),
      version: versionOf(delivery, payload),
      payload,
      object: objectOf(delivery, payload),
    }
  }
}

/** The body as JSON: an object or an array, in valid UTF-8; anything else is `undefined`. */
function parseBody(body: Uint8Array): object | undefined {
  // Decoding would replace invalid bytes, and two different bodies could read the same.
  if (!isUtf8(body)) return undefined
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
    const payload: unknown = JSON.parse(text)
    return typeof payload === 'object' && payload !== null ? payload : undefined
  } catch {
    // Not only a SyntaxError: a body nested or sized beyond what the engine takes is a RangeError.
    return undefined
  }
}

// Says nothing of the body itself: this goes to the log.
function describeUnparsable(delivery: Delivery): string {
  const contentType = delivery.header('content-type')?.slice(0, 80) ?? 'none'
  return `not a JSON object or array in UTF-8 (${delivery.body.length} bytes, content-type: ${contentType})`
}

function keyReader(key: EventDescription['key']): Read<string> {
  if (key === 'body-hash') return (delivery) => hash('sha256', delivery.body, 'hex')
  if (typeof key === 'string' || Array.isArray(key)) return textAt(key)
  return hashReader(key.hash)
}

/** A key from fields, for senders that give no id: the hash of all of them, or nothing if one is missing. */
function hashReader(locators: readonly Locator[]): Read<string> {
  const reads = locators.map((locator) => textAt(locator))
  return (delivery, payload) => {
    const fields = reads.map((read) => read(delivery, payload))
    if (fields.includes(undefined)) return undefined
    // As a JSON array, so that ("a", "bc") and ("ab", "c") differ.
    return hash('sha256', JSON.stringify(fields), 'hex')
  }
}

function typeReader(type: NonNullable<EventDescription['type']>): Read<string> {
  if (typeof type === 'string' || Array.isArray(type)) return textAt(type)
  const reads = type.join.map((locator) => textAt(locator))
  return (delivery, payload) => {
    const parts = reads.map((read) => read(delivery, payload))
    return parts[0] === undefined
      ? undefined
      : parts.filter((part) => part !== undefined).join(type.separator)
  }
}

function occurredAtReader(occurredAt: EventDescription['occurredAt']): Read<number> {
  if (occurredAt === undefined) return () => undefined
  const read = valueAt(occurredAt.at)
  return (delivery, payload) => parseOccurredAt(read(delivery, payload), occurredAt.unit)
}

/** A version that cannot be read is none: the date of the event then counts. */
function versionReader(version: EventDescription['version']): Read<Version> {
  if (version === undefined) return () => undefined
  const { at, as } = version
  const read = textAt(at)
  return (delivery, payload) => {
    const value = read(delivery, payload)
    return value === undefined ? undefined : readableVersion({ as, value })
  }
}

function wholePayload(_delivery: Delivery, payload: unknown): unknown {
  return payload
}

function fits(text: string, maxBytes: number): boolean {
  // A UTF-16 unit takes at most three bytes: ids are short, and then nothing has to be counted.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}
