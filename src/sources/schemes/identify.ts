import { hash } from 'node:crypto'
import { readableVersion, type Version, versionOf } from '../../model/version.ts'
import type { Delivery, Identified, Refusal, Unread } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { Identity } from '../event.ts'
import { type Locator, partsOf } from '../places.ts'
import { valueText } from './json-text.ts'
import { type Batch, itemIn, itemOf, itemPaths, itemSteps, type Read, textAt, valueAt } from './locate.ts'
import { bodyParser, describeUnparsable, glanceAt, jsonReader, type ParseBody } from './payload.ts'
import { refuse } from './refuse.ts'
import { parseOccurredAt } from './timestamp.ts'

type EventDescription = CheckedDescription['event']

// A key leads an index of the ledger and a type is a label of a metric: neither may grow with what a sender puts in.
const MAX_KEY_BYTES = 1024
const MAX_TYPE_BYTES = 255

/** The type of an event whose sender names none: it can be subscribed to like any other. */
const UNKNOWN_TYPE = 'unknown'

/**
 * Who the event is: key, type and the rest, read from where the description says.
 *
 * A genuine delivery is never refused for want of a key or type. Its key is then the hash of its type and body, and
 * `unread` says what is missing.
 */
export function identifier(
  { event, batch, body }: Pick<CheckedDescription, 'event' | 'batch' | 'body'>,
  parse: ParseBody = bodyParser(body),
): (delivery: Delivery) => Identified | Refusal {
  const places = locatorsIn([event.key, event.type, event.objectId, event.occurredAt?.at, event.version?.at])
  const glance = glanceAt(places, { batch, body }) ?? parse
  const keyOf = keyReader(event.key, { batch, body })
  const typeOf = event.type === undefined ? () => UNKNOWN_TYPE : typeReader(event.type, batch)
  const objectIdOf = event.objectId === undefined ? () => undefined : textAt(event.objectId, batch)
  const occurredAtOf = occurredAtReader(event.occurredAt, batch)
  const versionAt = versionReader(event.version, batch)
  const objectOf = event.object === undefined ? itemOf(batch) : valueAt(event.object, batch)
  const hasItem = batch === undefined ? () => true : itemFinder(batch)
  const noItem = unread('EVENT_KEY_MISSING', `no event at ${JSON.stringify(batch)}`)
  const noKey = unread('EVENT_KEY_MISSING', `no text and no exact number at ${JSON.stringify(event.key)}`)
  const noType = unread('EVENT_TYPE_MISSING', `no text at ${JSON.stringify(event.type)}`)

  return (delivery) => {
    const payload = glance(delivery)
    if (payload === undefined) return refuse('BODY_UNPARSABLE', describeUnparsable(delivery, body))

    const foundType = typeOf(delivery, payload)
    const type = foundType ?? UNKNOWN_TYPE
    if (!fits(type, MAX_TYPE_BYTES))
      return refuse('EVENT_TYPE_TOO_LONG', `longer than ${MAX_TYPE_BYTES} bytes`)
    const isItem = hasItem(payload)
    const foundKey = isItem ? keyOf(delivery, payload) : undefined
    const key = foundKey ?? derivedKey(type, delivery)
    if (!fits(key, MAX_KEY_BYTES)) return refuse('EVENT_KEY_TOO_LONG', `longer than ${MAX_KEY_BYTES} bytes`)
    const objectId = objectIdOf(delivery, payload)

    const identity = {
      key,
      type,
      // Only a hint for people and for ordering: one that is no id is left out, the event is not refused for it.
      objectId: objectId !== undefined && fits(objectId, MAX_KEY_BYTES) ? objectId : undefined,
      occurredAtMs: occurredAtOf(delivery, payload),
      version: versionAt(delivery, payload),
      unread: !isItem
        ? noItem
        : foundKey === undefined
          ? noKey
          : foundType === undefined
            ? noType
            : undefined,
    }
    const whole = glance === parse ? payload : undefined
    return new IdentifiedEvent(identity, { delivery, parse, objectOf }, whole)
  }
}

function unread(code: Unread['code'], detail: string): Unread {
  return { code, detail }
}

/** Of all that a delivery says: the type may stand in a header, and two types share a body. */
function derivedKey(type: string, delivery: Delivery): string {
  return hash('sha256', JSON.stringify(['unread', type, hash('sha256', delivery.body, 'hex')]), 'hex')
}

/** Whether the event of a batch is where it should be; a delivery of unknown shape has none. */
function itemFinder(batch: Batch): (payload: unknown) => boolean {
  const paths = itemPaths(batch)
  return (payload) => paths.some((path) => itemIn(payload, path) !== undefined)
}

/** All places in these parts of a description, however they are put together there. */
function locatorsIn(part: unknown): string[] {
  if (typeof part === 'string') return [part]
  if (Array.isArray(part)) return part.flatMap(locatorsIn)
  if (typeof part !== 'object' || part === null) return []
  // Texts are read from the body itself.
  const { separator: _, textOf: __, ...places } = part as Record<string, unknown>
  return Object.values(places).flatMap(locatorsIn)
}

interface Reading {
  readonly delivery: Delivery
  readonly parse: ParseBody
  readonly objectOf: Read<unknown>
}

/** The payload is parsed by whoever looks at it first: a receiver does not. */
class IdentifiedEvent implements Identified {
  readonly ok = true
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly version: Version | undefined
  readonly unread: Unread | undefined
  readonly #reading: Reading
  #payload: object | undefined

  constructor(
    identity: Identity & Pick<Identified, 'version' | 'unread'>,
    reading: Reading,
    payload: object | undefined,
  ) {
    this.key = identity.key
    this.type = identity.type
    this.objectId = identity.objectId
    this.occurredAtMs = identity.occurredAtMs
    this.version = identity.version
    this.unread = identity.unread
    this.#reading = reading
    this.#payload = payload
  }

  get payload(): unknown {
    this.#payload ??= this.#reading.parse(this.#reading.delivery)
    return this.#payload
  }

  get object(): unknown {
    return this.#reading.objectOf(this.#reading.delivery, this.payload)
  }
}

/** What reading a key takes besides its places. */
type Shape = Pick<CheckedDescription, 'batch' | 'body'>

function keyReader(key: EventDescription['key'], shape: Shape): Read<string> {
  const reads = [key].flat().map((one) => {
    if (one === 'each-delivery') return stampHash
    if (one === 'body-hash') return bodyHash
    if (one === 'item-hash') return hashReader({ hash: ['item-hash'] }, shape)
    return typeof one === 'string' ? textAt(one, shape.batch) : hashReader(one, shape)
  })
  const [only = bodyHash, ...others] = reads
  if (others.length === 0) return only
  return (delivery, payload) => {
    for (const read of reads) {
      const text = read(delivery, payload)
      if (text !== undefined) return text
    }
    return undefined
  }
}

const bodyHash: Read<string> = (delivery) => hash('sha256', delivery.body, 'hex')

/** Set by the receiver where nothing that the sender says tells two events apart; recorded with the headers. */
export const STAMP_HEADER = 'hookonce-delivery'

const stampHash: Read<string> = (delivery, payload) => {
  const stamp = delivery.header(STAMP_HEADER)
  const body = bodyHash(delivery, payload)
  return stamp === undefined ? undefined : hash('sha256', `${stamp} ${body}`, 'hex')
}

type HashedPlaces = Extract<EventDescription['key'], { readonly hash: unknown }>
type HashedPlace = HashedPlaces['hash'][number]

/** A key from fields, for senders that give no id: the hash of all of them, or nothing if one is missing. */
function hashReader({ hash: places, optional = [] }: HashedPlaces, shape: Shape): Read<string> {
  const reads = places.map((place) => hashedReader(place, shape))
  const optionalReads = optional.map((place) => hashedReader(place, shape))
  return (delivery, payload) => {
    const fields: (string | null | undefined)[] = reads.map((read) => read(delivery, payload))
    if (fields.includes(undefined)) return undefined
    for (const read of optionalReads) fields.push(read(delivery, payload) ?? null)
    // As a JSON array, so that ("a", "bc") and ("ab", "c") differ.
    return hash('sha256', JSON.stringify(fields), 'hex')
  }
}

function hashedReader(place: HashedPlace, shape: Shape): Read<string> {
  if (place === 'body-hash') return bodyHash
  if (place === 'item-hash') return itemText(shape)
  if (typeof place === 'object' && 'textOf' in place) return textOfReader(place.textOf, shape)
  return fieldAt(place, shape.batch)
}

/** The event of a batch, or a part of any, in its sender's bytes: parsing would round large numbers. */
function itemText({ batch, body }: Shape): Read<string> {
  const jsonOf = jsonReader(body)
  const paths = itemPaths(batch)
  return (delivery, payload) => {
    const path = paths.find((one) => itemIn(payload, one) !== undefined)
    const json = jsonOf(delivery)
    if (path === undefined || json === undefined || json === 'form') return undefined
    return valueText(json.text, itemSteps(payload, path))
  }
}

function textOfReader(place: Locator, shape: Shape): Read<string> {
  const [kind, rest] = partsOf(place)
  const steps = rest.split('.')
  const whole = kind === 'item' ? itemText(shape) : undefined
  const jsonOf = jsonReader(shape.body)
  return (delivery, payload) => {
    const json = whole === undefined ? jsonOf(delivery) : whole(delivery, payload)
    if (json === undefined || json === 'form') return undefined
    const text = valueText(typeof json === 'string' ? json : json.text, steps)
    return text === 'null' ? undefined : text
  }
}

/** As text; a yes or no counts too, for it tells two events of one object apart. */
function fieldAt(place: Locator | readonly Locator[], batch: Batch): Read<string> {
  const text = textAt(place, batch)
  const value = valueAt(place, batch)
  return (delivery, payload) => {
    const found = text(delivery, payload)
    if (found !== undefined) return found
    const raw = value(delivery, payload)
    return typeof raw === 'boolean' ? String(raw) : undefined
  }
}

function typeReader(type: NonNullable<EventDescription['type']>, batch: Batch): Read<string> {
  if (typeof type === 'string' || Array.isArray(type)) return textAt(type, batch)
  if ('present' in type) return presentReader(type.present, batch)
  const reads = type.join.map((part) =>
    typeof part === 'object' && 'present' in part ? presentReader(part.present, batch) : textAt(part, batch),
  )
  return (delivery, payload) => {
    const parts = reads.map((read) => read(delivery, payload))
    return parts[0] === undefined
      ? undefined
      : parts.filter((part) => part !== undefined).join(type.separator)
  }
}

/** The last part of the first place that holds something; an empty array holds nothing. */
function presentReader(places: readonly Locator[], batch: Batch): Read<string> {
  const reads = places.map((place) => ({
    name: partsOf(place)[1].split('.').at(-1),
    read: valueAt(place, batch),
  }))
  return (delivery, payload) =>
    reads.find(({ read }) => {
      const value = read(delivery, payload)
      return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null
    })?.name
}

function occurredAtReader(occurredAt: EventDescription['occurredAt'], batch: Batch): Read<number> {
  if (occurredAt === undefined) return () => undefined
  const read = valueAt(occurredAt.at, batch)
  return (delivery, payload) => parseOccurredAt(read(delivery, payload), occurredAt.unit)
}

/** A version that cannot be read is none: the date of the event then counts. */
function versionReader(version: EventDescription['version'], batch: Batch): Read<Version> {
  if (version === undefined) return () => undefined
  const { at, unit } = version
  if (unit === 's' || unit === 'ms') {
    const readDate = occurredAtReader({ at, unit }, batch)
    return (delivery, payload) => {
      const epochMs = readDate(delivery, payload)
      return epochMs === undefined ? undefined : versionOf(new Date(epochMs))
    }
  }
  const as = unit === 'iso' ? 'timestamp' : unit
  const read = textAt(at, batch)
  return (delivery, payload) => {
    const value = read(delivery, payload)
    return value === undefined ? undefined : readableVersion({ as, value })
  }
}

function fits(text: string, maxBytes: number): boolean {
  // A UTF-16 unit takes at most three bytes: ids are short, and then nothing has to be counted.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}
