import { describe, expect, it } from 'vitest'
import { arriving, everyProvider } from '../../../test/support/catalogue.ts'
import { businessPairs } from '../../../test/support/event-pairs/business.ts'
import { messagePairs } from '../../../test/support/event-pairs/messages.ts'
import { moneyPairs } from '../../../test/support/event-pairs/money.ts'
import { type EventPair, merged } from '../../../test/support/event-pairs/pair.ts'
import { paymentPairs } from '../../../test/support/event-pairs/payments.ts'
import { toolPairs } from '../../../test/support/event-pairs/tools.ts'
import type { Delivery, Source } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { sampleOf } from '../sample.ts'
import { STAMP_HEADER } from '../schemes/event-key.ts'
import { writeBody } from '../schemes/payload.ts'
import { isSignable } from '../signature.ts'

/*
 * The purpose of an event key: two events have two keys, and all attempts to deliver one event have
 * the same key. A key that merges events loses them. A key that changes with the attempt processes
 * them twice.
 */

const NOW_MS = 1_700_000_000_000
const pairs = { ...messagePairs, ...moneyPairs, ...paymentPairs, ...businessPairs, ...toolPairs }
const providers = await everyProvider()

let stamps = 0

function delivered(text: string, headers: Readonly<Record<string, string>>): Delivery {
  const all: Record<string, string> = { ...headers, [STAMP_HEADER]: `stamp ${++stamps}` }
  return {
    method: 'POST',
    url: '/',
    header: (name) => all[name],
    body: Buffer.from(text),
    receivedAtMs: NOW_MS,
  }
}

/** Providers of JSON or forms send flat texts as a form. */
function isForm(body: CheckedDescription['body'], payload: unknown): boolean {
  if (typeof body !== 'object' || !('jsonOr' in body) || body.jsonOr !== 'form') return false
  return !Array.isArray(payload)
}

function formOf(payload: unknown): string {
  return new URLSearchParams(payload as Record<string, string>).toString()
}

/** The single event of a delivery. */
function eventOf(source: Source, delivery: Delivery) {
  const parts = source.split?.(delivery) ?? [delivery]
  if ('ok' in parts) throw new Error(parts.detail)
  const [only, ...others] = parts.map((part) => source.identify(part))
  if (only === undefined || others.length > 0) throw new Error(`${parts.length} events`)
  if (!only.ok) throw new Error(`${only.code}: ${only.detail}`)
  return only
}

function keysOf(source: Source, { body }: CheckedDescription, pair: EventPair) {
  const { event, other, attempt, headers = {} } = pair
  const written = (payload: unknown): string =>
    (pair.isForm ?? isForm(body, payload)) ? formOf(payload) : writeBody(payload as object, body)
  const sent = {
    first: delivered(written(event), headers),
    other: delivered(written(merged(event, other)), { ...headers, ...pair.otherHeaders }),
    again: delivered(written(merged(event, attempt)), { ...headers, ...pair.attemptHeaders }),
  }
  const read = Object.values(sent).map((delivery) => eventOf(source, delivery))
  const [first, second, again] = read.map(({ key }) => key)
  return { first, second, again, unread: read.map(({ unread }) => unread?.detail) }
}

describe.each(providers.filter(({ id }) => id in pairs))('$id', ({ id, make, options, description }) => {
  const source = make(options)
  it.each(Object.entries(pairs[id] ?? {}))(
    'two events have two keys, two attempts have one: %s',
    (_, pair) => {
      const { first, second, again, unread } = keysOf(source, description, pair)
      expect(second).not.toBe(first)
      if (pair.retryIsNew === undefined) expect(again).toBe(first)
      else expect(again).not.toBe(first)
      // The key comes from the described place, and is not derived from the content.
      expect(unread).toEqual([undefined, undefined, undefined])
    },
  )
})

const signable = providers.filter(({ description: { signature, event } }) => {
  return isSignable(signature) && event.key !== 'each-delivery'
})

describe.each(signable)('$id', ({ id, make, options, description }) => {
  const source = make(options)
  const deliver = (key: string, timestampMs: number): Delivery => {
    const sample = { key, type: 'thing.made', objectId: key, occurredAtMs: NOW_MS - 1_000 }
    const signed = source.deliver({ ...sampleOf(description, [sample]), timestampMs })
    return arriving(signed, NOW_MS)
  }

  it('an event that is signed twice keeps its key; another event has another key', () => {
    const [first, again, other] = [
      deliver('evt_1', NOW_MS),
      deliver('evt_1', NOW_MS + 60_000),
      deliver('evt_2', NOW_MS),
    ].map((delivery) => eventOf(source, delivery).key)
    expect(again).toBe(first)
    // A generated sample does not show the differences between events without an id. These
    // providers have pairs.
    if (!(id in pairs)) expect(other).not.toBe(first)
  })
})

it('every provider without event ids has a pair of sample events', () => {
  const derived = providers.filter(({ description }) => /hash|each-delivery/.test(keyText(description)))
  expect(derived.map(({ id }) => id).filter((id) => !(id in pairs))).toEqual([])
})

it('every provider whose event id is the id of an object has a pair: an object may have several events', () => {
  const ofObjects = providers.filter(({ description: { event } }) => {
    const ofObject: readonly unknown[] = [event.objectId ?? []].flat()
    return [event.key].flat().some((place) => ofObject.includes(place))
  })
  // Otherwise the places were not read.
  expect(ofObjects.map(({ id }) => id)).toContain('fal')
  expect(ofObjects.map(({ id }) => id).filter((id) => !(id in pairs))).toEqual([])
})

function keyText({ event }: CheckedDescription): string {
  // `json:hash` of BigCommerce is a place.
  return JSON.stringify(event.key).replaceAll('json:hash', '')
}
