import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { everyProvider, secretFor } from '../../../test/support/catalogue.ts'
import type { Delivery, Source } from '../contract.ts'
import { sampleOf } from '../sample.ts'
import { isSignable } from '../signature.ts'

/*
 * Anyone can send anything to any source. Verification never throws, and never accepts a delivery
 * that was not signed with the secret. The deliveries are signed with a stranger's secret, so that
 * they look genuine, and then changed.
 */

const NOW_MS = 1_700_000_000_000
const NAMES = [
  'constructor',
  '__proto__',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__defineGetter__',
  'then',
]
const ODD = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\u0130',
  '%',
  '%00',
  '{}',
  '[]',
  'null',
  'NaN',
  '-1',
  '1e999',
  '=',
  ',',
]
const HUGE = ['9'.repeat(400), 'a'.repeat(5_000), 'A=,'.repeat(3_000), 'constructor,'.repeat(400)]
const SEPARATORS = /([=,;:. "&?/()]+)/
const nasty = fc.constantFrom(...NAMES, ...ODD, ...HUGE)
const every = await everyProvider()

/** The text with one of its parts, between the separators of headers, replaced by another. */
function withPart(text: string): fc.Arbitrary<string> {
  const parts = text.split(SEPARATORS)
  return fc
    .tuple(
      fc.nat(Math.max(parts.length - 1, 0)),
      fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 40 })),
    )
    .map(([at, part]) => parts.with(at, part).join(''))
}

function* everyPart(text: string): Iterable<string> {
  const parts = text.split(SEPARATORS)
  for (const at of parts.keys())
    for (const part of [...NAMES, ...ODD, ...HUGE]) yield parts.with(at, part).join('')
}

function headerText(genuine: string | undefined): fc.Arbitrary<string | undefined> {
  const made = [nasty, fc.string({ unit: 'binary', maxLength: 80 }), fc.constant(undefined)]
  return genuine === undefined
    ? fc.oneof(...made)
    : fc.oneof(fc.constant(genuine), withPart(genuine), ...made)
}

const nastyJson = fc
  .dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), fc.oneof(nasty, fc.jsonValue()), {
    maxKeys: 6,
  })
  .map((value) => JSON.stringify(value))

/**
 * Looks up headers like the adapters: in the plain object of node:http, or with fetch, which throws
 * for an invalid name.
 */
function looker(headers: Record<string, string>, how: 'object' | 'fetch'): Delivery['header'] {
  if (how === 'object') return (name) => headers[name]
  const sent = new Map(Object.entries(headers))
  return (name) => {
    new Headers().get(name)
    return sent.get(name)
  }
}

describe.each(every)('$id', ({ make, description, options }) => {
  const source: Source = make(options)
  const event = { key: 'evt_1', type: 'thing.made', objectId: 'obj_1', occurredAtMs: NOW_MS }
  const sample = { ...sampleOf(description, [event]), timestampMs: NOW_MS }
  const stranger = isSignable(description.signature)
    ? make({ ...options, secret: secretFor(description.signature, 1) }).deliver(sample)
    : { url: '/in/x', headers: sample.headers, body: Buffer.from(sample.body) }
  const genuine: Record<string, string> = { ...stranger.headers }
  const asked = new Set(['authorization', 'content-type', ...Object.keys(genuine)])
  source.verify({
    ...{ method: 'POST', url: stranger.url, body: stranger.body, receivedAtMs: NOW_MS },
    header: (name) => {
      asked.add(name)
      return genuine[name] ?? 'x'
    },
  })
  const names = [...asked]
  const text = Buffer.from(stranger.body).toString('utf8')

  it('never throws if any part of a header is replaced by an odd value', () => {
    for (const [name, value] of Object.entries(genuine))
      for (const changed of everyPart(value))
        for (const how of ['object', 'fetch'] as const) {
          const { url, body } = stranger
          const header = looker({ ...genuine, [name]: changed }, how)
          expect(source.verify({ method: 'POST', url, header, body, receivedAtMs: NOW_MS }).ok).toBe(false)
        }
  })

  const deliveries = fc.record({
    method: fc.constantFrom('POST', 'GET', 'HEAD', 'constructor'),
    url: fc.oneof(
      fc.constant(stranger.url),
      withPart(stranger.url),
      nasty.map((query) => `/in/x?${query}`),
    ),
    values: fc.tuple(...names.map((name) => headerText(genuine[name]))),
    body: fc.oneof(
      fc.constant(text),
      withPart(text),
      nastyJson,
      nastyJson.map((json) => `payload=${encodeURIComponent(json)}`),
      fc.uint8Array({ maxLength: 300 }),
    ),
    how: fc.constantFrom<'object' | 'fetch'>('object', 'fetch'),
  })

  it('never throws, and never accepts a delivery of a stranger', () => {
    fc.assert(
      fc.property(deliveries, ({ method, url, values, body, how }) => {
        const headers: Record<string, string> = {}
        for (const [at, name] of names.entries()) {
          const value = values[at]
          if (value !== undefined) headers[name] = value
        }
        const delivery: Delivery = {
          ...{ method, url, header: looker(headers, how), receivedAtMs: NOW_MS },
          body: Buffer.from(body),
        }
        expect(source.verify(delivery).ok).toBe(false)
        source.handshake?.(delivery)
        for (const one of [source.split?.(delivery) ?? delivery].flat())
          if (!('ok' in one)) source.identify(one)
      }),
      { numRuns: 150 },
    )
  })
})
