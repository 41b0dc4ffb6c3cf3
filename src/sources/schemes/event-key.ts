import { hash } from '../../model/hash.ts'
import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { type Locator, partsOf, pathSteps } from '../places.ts'
import { valueText } from './json-text.ts'
import { type Batch, itemIn, itemPaths, itemSteps, type Read, textAt, valueAt } from './locate.ts'
import { jsonReader } from './payload.ts'

type EventDescription = CheckedDescription['event']

/** The parts of a description that reading a key needs besides its places. */
type Shape = Pick<CheckedDescription, 'batch' | 'body'>

/** Reads the key of an event. Undefined if its places are empty. */
export function keyReader(key: EventDescription['key'], shape: Shape): Read<string> {
  const reads = [key].flat().map((one) => {
    if (one === 'each-delivery') return stampHash
    if (one === 'body-hash') return bodyHash
    if (one === 'item-hash') return hashReader({ hash: ['item-hash'] }, shape)
    if (typeof one === 'string') return textAt(one, shape.batch)
    return 'when' in one ? conditionalReader(one, shape) : hashReader(one, shape)
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

type KeyPart = Extract<EventDescription['key'], readonly unknown[]>[number]
type ConditionalKey = Extract<KeyPart, { readonly when: unknown }>

/** A key for some events only: events whose places hold one of the given texts. */
function conditionalReader({ when, key }: ConditionalKey, shape: Shape): Read<string> {
  const conditions = Object.entries(when).map(([place, texts]) => ({
    read: textAt(place as Locator, shape.batch),
    texts: new Set(texts),
  }))
  const keyOf = keyReader(key, shape)
  return (delivery, payload) => {
    const isMeant = conditions.every(({ read, texts }) => texts.has(read(delivery, payload) ?? ''))
    return isMeant ? keyOf(delivery, payload) : undefined
  }
}

const bodyHash: Read<string> = (delivery) => hash('sha256', delivery.body, 'hex')

/**
 * The receiver sets this header if the sender's events cannot be distinguished. It is recorded with
 * the headers.
 */
export const STAMP_HEADER = 'hookonce-delivery'

const stampHash: Read<string> = (delivery, payload) => {
  const stamp = delivery.header(STAMP_HEADER)
  const body = bodyHash(delivery, payload)
  return stamp === undefined ? undefined : hash('sha256', `${stamp} ${body}`, 'hex')
}

type HashedPlaces = Extract<EventDescription['key'], { readonly hash: unknown }>
type HashedPlace = HashedPlaces['hash'][number]

/** A key for senders without an id: the hash of all fields. Undefined if a field is missing. */
function hashReader({ hash: places, optional = [] }: HashedPlaces, shape: Shape): Read<string> {
  const reads = places.map((place) => hashedReader(place, shape))
  const optionalReads = optional.map((place) => hashedReader(place, shape))
  return (delivery, payload) => {
    const fields: (string | null | undefined)[] = reads.map((read) => read(delivery, payload))
    if (fields.includes(undefined)) return undefined
    for (const read of optionalReads) fields.push(read(delivery, payload) ?? null)
    // Hashed as a JSON array, so that ("a", "bc") and ("ab", "c") differ.
    return hash('sha256', JSON.stringify(fields), 'hex')
  }
}

function hashedReader(place: HashedPlace, shape: Shape): Read<string> {
  if (place === 'body-hash') return bodyHash
  if (place === 'item-hash') return itemText(shape)
  if (typeof place === 'object' && 'textOf' in place) return textOfReader(place.textOf, shape)
  return fieldAt(place, shape.batch)
}

/**
 * The single event of a batch, or a part of an event, in the sender's bytes. Parsing would round
 * large numbers.
 */
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
  const steps = pathSteps(rest)
  const whole = kind === 'item' ? itemText(shape) : undefined
  const jsonOf = jsonReader(shape.body)
  return (delivery, payload) => {
    const json = whole === undefined ? jsonOf(delivery) : whole(delivery, payload)
    if (json === undefined || json === 'form') return undefined
    const text = valueText(typeof json === 'string' ? json : json.text, steps)
    return text === 'null' ? undefined : text
  }
}

/** The value as text. Booleans count too, because they distinguish two events of one object. */
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

/**
 * Derived from the type and the body: the type may be in a header, and two types may share a body.
 */
export function derivedKey(type: string, delivery: Delivery): string {
  return hash('sha256', JSON.stringify(['unread', type, hash('sha256', delivery.body, 'hex')]), 'hex')
}

/** For a key that is too long. The body of a retry may differ, so it is not used. */
export function hashedKey(key: string): string {
  return hash('sha256', JSON.stringify(['long key', key]), 'hex')
}
