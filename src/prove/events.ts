import { randomBytes } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'
import type { Delivery } from '../sources/contract.ts'
import { fixtureOf } from '../sources/fixtures/index.ts'
import { type SampleEvent, sampleOf } from '../sources/sample.ts'
import { parseJsonText, textOf } from '../sources/schemes/payload.ts'
import type { Sample, SignedDelivery, SigningSource } from '../sources/sign.ts'
import type { Alias } from './changes.ts'

/* Makes events that no schedule and no run has sent before. */

/** A body that the user recorded, and its ids. */
export interface RecordedEvent {
  readonly text: string
  readonly key: string | undefined
  readonly objectId: string | undefined
  readonly type: string | undefined
}

export interface EventMaker {
  readonly source: SigningSource
  /** Path and query of the receiver. */
  readonly url: string
  /** Undefined: the default type of the provider. */
  readonly type: string | undefined
  /** The recorded bodies: of an event, and optionally of a newer event of the same object. */
  readonly recorded: readonly RecordedEvent[]
}

/** One event of a schedule. `name` is its name in reports: `event`, `older`, `newer`. */
export interface ProvedEvent extends SampleEvent {
  readonly name: string
  readonly recorded: RecordedEvent | undefined
  /** Added to the amounts of the object, so that a newer version differs from an older one. */
  readonly raise: number
  /** The type whose fields the payload has, if the event shows the same state under another type. */
  readonly stateOf?: string
}

/** The type of the second event of a pair, and whether it was chosen by default. */
export interface RelatedType {
  readonly type: string
  readonly isDefault: boolean
}

/** A later event of the same object, unless the user recorded bodies: a sample would not fit them. */
export function defaultRelatedType(maker: EventMaker): string | undefined {
  const { type } = freshEvent(maker)
  const related = fixtureOf(maker.source.provider)?.relatedType?.(type)
  return maker.recorded.length > 0 || related === type ? undefined : related
}

/** Whole hours apart, because some providers date their events to the second. */
const HOUR_MS = 3_600_000

export function freshEvent({ source, type, recorded }: EventMaker): ProvedEvent {
  const [own] = recorded
  const fixture = fixtureOf(source.provider)
  const eventType = type ?? own?.type ?? fixture?.type ?? 'sample'
  const prefix = fixture ? fixture.objectPrefix(eventType) : 'obj_'
  return {
    name: 'event',
    key: `evt_${randomBytes(10).toString('hex')}`,
    type: eventType,
    // At least nine digits: a shorter number could be part of another value.
    objectId: prefix + (1_000_000_000 + (randomBytes(4).readUInt32BE() % 1_000_000_000)),
    occurredAtMs: wholeSecond(Date.now()),
    recorded: own,
    raise: 0,
  }
}

/** Two events of one object: `older` happened an hour before `newer`. */
export function freshPair(maker: EventMaker, related?: RelatedType): readonly [ProvedEvent, ProvedEvent] {
  const event = freshEvent(maker)
  const second = maker.recorded[1]
  // Without the user's choice, the second event shows the later state of the first one.
  const isSameState = related === undefined || related.isDefault
  return [
    { ...event, name: 'older', occurredAtMs: event.occurredAtMs - HOUR_MS },
    {
      ...event,
      name: 'newer',
      key: `${event.key}n`,
      type: related?.type ?? second?.type ?? event.type,
      recorded: related === undefined ? (second ?? event.recorded) : undefined,
      raise: second === undefined && isSameState ? 1 : 0,
      ...(related?.isDefault ? { stateOf: event.type } : {}),
    },
  ]
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000
}

/** The body and the headers of an event, before they are signed. */
export function sampleBody({ source }: EventMaker, event: ProvedEvent): Pick<Sample, 'body' | 'headers'> {
  const fixture = fixtureOf(source.provider)
  const { recorded } = event
  const payloadOf = recorded
    ? () => recordedPayload(recorded, event)
    : fixture && (() => raised(fixture.payload({ ...event, type: event.stateOf ?? event.type }), event.raise))
  return sampleOf(source.description, [event], payloadOf)
}

function recordedPayload({ text, key, objectId }: RecordedEvent, event: ProvedEvent): object {
  let own = text
  // Replaces every occurrence: a body may repeat the id of its object.
  if (objectId !== undefined && objectId.length >= 6) own = own.replaceAll(objectId, event.objectId)
  if (key !== undefined && key.length >= 6) own = own.replaceAll(key, event.key)
  const payload = parseJsonText(own)
  if (payload === undefined)
    throw new HookonceError('CONFIG_INVALID', '--event: the file holds no JSON object')
  return raised(payload, event.raise)
}

/** Dates in seconds or milliseconds since 1970 begin here. Smaller numbers may be amounts. */
const FIRST_DATE = 1_000_000_000

/** A copy with higher amounts. Ids, dates, 0 and 1 stay the same. */
function raised(payload: object, by: number): object {
  const copy: unknown = JSON.parse(JSON.stringify(payload), (name, value: unknown) => {
    const isAmount =
      typeof value === 'number' && value > 1 && value < FIRST_DATE && !/(^|_)(id|number)$/.test(name)
    return isAmount ? value + by : value
  })
  return typeof copy === 'object' && copy !== null ? copy : payload
}

/** The event with the signature of its provider. `atMs` is the date of the signature. */
export function signedDelivery(maker: EventMaker, event: ProvedEvent, atMs = Date.now()): SignedDelivery {
  return maker.source.deliver({ ...sampleBody(maker, event), url: maker.url, timestampMs: atMs })
}

export function asDelivery({ url, headers, body }: SignedDelivery): Delivery {
  return { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: Date.now() }
}

/** The names under which the ids and dates of events appear in comparisons. */
export function aliasesOf(events: readonly ProvedEvent[]): Alias[] {
  const one = events.length === 1
  const aliases = events.flatMap(({ name, key, objectId, occurredAtMs }): Alias[] => [
    [key, one ? '<event key>' : `<key of ${name}>`],
    [objectId, '<object>'],
    ...datesOf(occurredAtMs).map((text): Alias => [text, one ? '<date>' : `<date of ${name}>`]),
  ])
  // The key of the newer event begins with the key of the older one, so the longest text is
  // replaced first.
  return aliases.sort(([a], [b]) => b.length - a.length)
}

function datesOf(ms: number): string[] {
  const iso = new Date(ms).toISOString()
  const [seconds = ''] = iso.split('.')
  return [
    iso,
    `${seconds}Z`,
    `${seconds}+00:00`,
    seconds,
    `${seconds.replace('T', ' ')}`,
    `${ms}`,
    `${ms / 1_000}`,
  ]
}

/** Reads the ids of a recorded body, so that each schedule can replace them by fresh ones. */
export function recordedEvent(source: SigningSource, url: string, text: string): RecordedEvent {
  const empty = parseJsonText(text)
  if (empty === undefined)
    throw new HookonceError('CONFIG_INVALID', '--event: the file must hold the JSON body of one delivery')
  const found = source.identify(asDelivery(source.deliver({ body: text, url })))
  return found.ok
    ? { text, key: found.key, objectId: found.objectId, type: found.type }
    : { text, key: undefined, objectId: undefined, type: undefined }
}

export function bodyText({ body }: SignedDelivery): string {
  return textOf(body)
}
