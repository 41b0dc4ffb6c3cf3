import { hash } from '../../model/hash.ts'
import { readableVersion, type Version, versionOf } from '../../model/version.ts'
import type { Delivery, Identified, Refusal, Unread } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { Identity } from '../event.ts'
import { type Locator, partsOf, pathSteps } from '../places.ts'
import { derivedKey, hashedKey, keyReader } from './event-key.ts'
import { type Batch, itemIn, itemOf, itemPaths, type Read, textAt, valueAt } from './locate.ts'
import { bodyParser, describeUnparsable, type ParseBody, partialParser } from './payload.ts'
import { refuse } from './refuse.ts'
import { parseOccurredAt } from './timestamp.ts'

type EventDescription = CheckedDescription['event']

// A key is part of an index of the ledger, and a type is a metric label. Neither may grow without
// limit.
const MAX_KEY_BYTES = 1024
const MAX_TYPE_BYTES = 255
const HASH_CHARS = 64
/** Stands between the start of a long type and its hash. No type that a sender documents has it. */
const CUT = '…'

/** The type of an event whose sender names none. Subscribers can use it like any other. */
const UNKNOWN_TYPE = 'unknown'

/**
 * Reads the identity of the event: key, type and the rest, from the places in the description.
 *
 * A genuine delivery is never rejected because its key or type is missing or too long: one such
 * event would make a whole batch fail, at every attempt. A missing key becomes the hash of type and
 * body, a long one its own hash, and `unread` reports it.
 */
export function identifier(
  { event, batch, body }: Pick<CheckedDescription, 'event' | 'batch' | 'body'>,
  parse: ParseBody = bodyParser(body),
): (delivery: Delivery) => Identified | Refusal {
  const places = locatorsIn([event.key, event.type, event.objectId, event.occurredAt?.at, event.version?.at])
  const parsePart = partialParser(places, { batch, body }) ?? parse
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
  const longKey = unread('EVENT_KEY_TOO_LONG', `longer than ${MAX_KEY_BYTES} bytes; its hash is the key`)
  const longType = unread('EVENT_TYPE_TOO_LONG', `longer than ${MAX_TYPE_BYTES} bytes; its start is kept`)

  return (delivery) => {
    const payload = parsePart(delivery)
    if (payload === undefined) return refuse('BODY_UNPARSABLE', describeUnparsable(delivery, body))

    const foundType = typeOf(delivery, payload)
    const isTypeLong = foundType !== undefined && !fits(foundType, MAX_TYPE_BYTES)
    const type = isTypeLong ? boundedType(foundType) : (foundType ?? UNKNOWN_TYPE)
    // A delivery with a documented type is an event, even if it is not in one of the provider's
    // batches.
    const isItem = foundType !== undefined || hasItem(payload)
    const foundKey = isItem ? keyOf(delivery, payload) : undefined
    const isKeyLong = foundKey !== undefined && !fits(foundKey, MAX_KEY_BYTES)
    const key = isKeyLong ? hashedKey(foundKey) : (foundKey ?? derivedKey(type, delivery))
    const objectId = objectIdOf(delivery, payload)

    const identity = {
      key,
      type,
      // Only a hint for people and for ordering. An invalid id is dropped, and the event is still
      // accepted.
      objectId: objectId !== undefined && fits(objectId, MAX_KEY_BYTES) ? objectId : undefined,
      occurredAtMs: occurredAtOf(delivery, payload),
      version: versionAt(delivery, payload),
      unread: !isItem
        ? noItem
        : foundKey === undefined
          ? noKey
          : isKeyLong
            ? longKey
            : foundType === undefined
              ? noType
              : isTypeLong
                ? longType
                : undefined,
    }
    const whole = parsePart === parse ? payload : undefined
    return new IdentifiedEvent(identity, { delivery, parse, objectOf }, whole)
  }
}

function unread(code: Unread['code'], detail: string): Unread {
  return { code, detail }
}

/**
 * The start of a long type, for patterns such as `invoice.*`, and the hash of all of it, so that no
 * two types become one.
 */
function boundedType(type: string): string {
  const room = MAX_TYPE_BYTES - Buffer.byteLength(CUT) - HASH_CHARS
  // `stream` leaves out a character that is cut in two.
  const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(type).subarray(0, room), {
    stream: true,
  })
  return `${start}${CUT}${hash('sha256', type, 'hex')}`
}

/** Returns a check whether the event of a batch is at its place. A delivery of unknown shape has no event. */
function itemFinder(batch: Batch): (payload: unknown) => boolean {
  const paths = itemPaths(batch)
  return (payload) => paths.some((path) => itemIn(payload, path) !== undefined)
}

/** Collects all places from these parts of a description, however they are nested. */
function locatorsIn(part: unknown): string[] {
  if (typeof part === 'string') return [part]
  if (Array.isArray(part)) return part.flatMap(locatorsIn)
  if (typeof part !== 'object' || part === null) return []
  // `textOf` reads the body itself, so it needs no parsed value.
  const { separator: _, textOf: __, when, ...places } = part as Record<string, unknown>
  return [Object.keys(when ?? {}), ...Object.values(places)].flatMap(locatorsIn)
}

interface PayloadReader {
  readonly delivery: Delivery
  readonly parse: ParseBody
  readonly objectOf: Read<unknown>
}

/** Parses the payload on first access. A receiver never does. */
class IdentifiedEvent implements Identified {
  readonly ok = true
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly version: Version | undefined
  readonly unread: Unread | undefined
  readonly #reader: PayloadReader
  #payload: object | undefined

  constructor(
    identity: Identity & Pick<Identified, 'version' | 'unread'>,
    reader: PayloadReader,
    payload: object | undefined,
  ) {
    this.key = identity.key
    this.type = identity.type
    this.objectId = identity.objectId
    this.occurredAtMs = identity.occurredAtMs
    this.version = identity.version
    this.unread = identity.unread
    this.#reader = reader
    this.#payload = payload
  }

  get payload(): unknown {
    this.#payload ??= this.#reader.parse(this.#reader.delivery)
    return this.#payload
  }

  get object(): unknown {
    return this.#reader.objectOf(this.#reader.delivery, this.payload)
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

/** The last path step of the first place that holds a value. An empty array does not count. */
function presentReader(places: readonly Locator[], batch: Batch): Read<string> {
  const reads = places.map((place) => ({
    name: pathSteps(partsOf(place)[1]).at(-1),
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

/** An unreadable version counts as missing. The date of the event is used instead. */
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
  // A UTF-16 unit takes at most three bytes, so short ids need no counting.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}
