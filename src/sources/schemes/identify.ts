import { hash } from 'node:crypto'
import type { Delivery, Identified, Refusal } from '../contract.ts'
import type { CheckedDescription, Locator } from '../description.ts'
import type { Identity } from '../event.ts'
import { jsonPaths, type Read, textAt, valueAt } from './locate.ts'
import { outlineOf } from './outline.ts'
import { refuse } from './refuse.ts'
import { parseOccurredAt } from './timestamp.ts'

type EventDescription = CheckedDescription['event']

// A key leads an index of the ledger and a type is a label of a metric: neither may grow with what a sender puts in.
const MAX_KEY_BYTES = 1024
const MAX_TYPE_BYTES = 255

/** The type of an event whose sender names none: it can be subscribed to like any other. */
const UNKNOWN_TYPE = 'unknown'

/** Who the event is: key, type and the rest, read from where the description says. The payload is parsed when asked for. */
export function identifier(event: EventDescription): (delivery: Delivery) => Identified | Refusal {
  const keyOf = keyReader(event.key)
  const typeOf = event.type === undefined ? () => undefined : typeReader(event.type)
  const objectIdOf = event.objectId === undefined ? () => undefined : textAt(event.objectId)
  const occurredAtOf = occurredAtReader(event.occurredAt)
  const objectOf = event.object === undefined ? wholePayload : valueAt(event.object)
  const keyPlace = JSON.stringify(event.key)
  const outline = outlineOf(jsonPaths([event.key, event.type, event.objectId, event.occurredAt?.at]))

  return (delivery) => {
    const payload = outline(delivery.body)
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

    return new IdentifiedEvent(
      {
        key,
        type,
        // Only a hint for people and for ordering: one that is no id is left out, the event is not refused for it.
        objectId: objectId !== undefined && fits(objectId, MAX_KEY_BYTES) ? objectId : undefined,
        occurredAtMs: occurredAtOf(delivery, payload),
      },
      delivery,
      objectOf,
    )
  }
}

/** The payload is parsed by whoever looks at it first: a receiver does not. */
class IdentifiedEvent implements Identified {
  readonly ok = true
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly #delivery: Delivery
  readonly #objectOf: Read<unknown>
  #payload: unknown

  constructor({ key, type, objectId, occurredAtMs }: Identity, delivery: Delivery, objectOf: Read<unknown>) {
    this.key = key
    this.type = type
    this.objectId = objectId
    this.occurredAtMs = occurredAtMs
    this.#delivery = delivery
    this.#objectOf = objectOf
  }

  get payload(): unknown {
    this.#payload ??= JSON.parse(textOf(this.#delivery.body))
    return this.#payload
  }

  get object(): unknown {
    return this.#objectOf(this.#delivery, this.payload)
  }
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
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

function wholePayload(_delivery: Delivery, payload: unknown): unknown {
  return payload
}

function fits(text: string, maxBytes: number): boolean {
  // A UTF-16 unit takes at most three bytes: ids are short, and then nothing has to be counted.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}
