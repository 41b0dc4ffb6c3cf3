import { createSecretKey } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arriving, everyProvider } from '../../../test/support/catalogue.ts'
import type { Delivery, Refusal, Source } from '../contract.ts'
import { checkOptions } from '../options.ts'
import { sampleOf } from '../sample.ts'
import { endpointOf } from '../schemes/endpoint.ts'
import { isSignable } from '../signature.ts'
import { diagnose } from './diagnose.ts'
import { explain } from './explain.ts'

/*
 * For any input to any provider: no exception, no empty reason, and work bounded by the size of the
 * input.
 */

const NOW_MS = 1_700_000_000_000
const FILLER = Array.from({ length: 6_000 }, (_, at) => at)
// Providers with fetched keys have their own test, with a server for the keys.
const every = (await everyProvider()).filter(({ description }) => isSignable(description.signature))

const shapes: [what: string, body: Buffer][] = [
  ['a few bytes that unpack to many', gzipSync(Buffer.alloc(8 * 1024 * 1024))],
  [
    'an object of many names',
    Buffer.from(JSON.stringify(Object.fromEntries(FILLER.map((at) => [`k${at}`, {}])))),
  ],
  ['an object of few names', Buffer.from(JSON.stringify({ d: 'x'.repeat(9_000), c: 1, b: 2, a: 3 }))],
  ['a deep object', Buffer.from(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)],
]

const sizes = [1_000, 100_000, 1_000_000, 5_000_000].map((size) => Buffer.from(`["${'a'.repeat(size)}"]`))

describe.each(every)('$id', ({ id, make, description, options }) => {
  const source: Source = make(options)
  const names = [
    ...('header' in description.signature ? [description.signature.header ?? []].flat() : ['authorization']),
    ...(description.timestamp?.at.startsWith('header:') ? [description.timestamp.at.slice(7)] : []),
    ...['content-type', 'content-length', 'host', 'x-forwarded-host', 'x-hub-signature'],
  ]
  const event = { key: 'evt_1', type: 'thing.made', objectId: 'obj_1', occurredAtMs: NOW_MS }
  const sample = { ...sampleOf(description, [event]), timestampMs: NOW_MS }
  const genuine = make(options).deliver(sample)
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.constantFrom(
      ...Object.values(genuine.headers),
      `t=1,v1=${'0'.repeat(64)}`,
      `v1,${'A'.repeat(43)}=`,
      'a,b=c',
    ),
    fc.nat().map((size) => `${'sha256='.repeat(size % 900)}`),
  )
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 2_000 }),
    fc.json({ maxDepth: 6 }).map((json) => Buffer.from(json)),
    fc
      .dictionary(fc.constantFrom('toString', '__proto__', 'livemode', 'test', 'data'), fc.jsonValue())
      .map((value) => Buffer.from(JSON.stringify(value))),
    fc.webQueryParameters().map((query) => Buffer.from(query)),
    fc.constant(Buffer.from(sample.body)),
    fc.constant(Buffer.from('['.repeat(20_000) + ']'.repeat(20_000))),
  )
  const strangers = fc
    .tuple(
      fc.array(fc.option(text, { nil: undefined }), { minLength: names.length, maxLength: names.length }),
      body,
      fc.webQueryParameters(),
      fc.constantFrom('POST', 'GET', 'HEAD', 'X'),
    )
    .map(([values, bytes, query, method]): Delivery => {
      const headers = new Map(names.map((name, at) => [name, values[at]]))
      return {
        method,
        url: `/in/x?${query}`,
        header: (name) => headers.get(name),
        body: bytes,
        receivedAtMs: NOW_MS,
      }
    })

  it('gives a reason for any delivery, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(strangers, async (delivery) => {
        source.handshake?.(delivery)
        const verified = source.verify(delivery)
        for (const one of [source.split?.(delivery) ?? [delivery]].flat())
          if (!('ok' in one)) source.identify(one)
        const refusal: Refusal = verified.ok
          ? { ok: false, code: 'SIGNATURE_MISMATCH', detail: 'x' }
          : verified
        const says = await diagnose({ source, others: [{ name: 'other', source }], delivery, refusal })
        if (refusal.code.startsWith('SIGNATURE_')) expect(says).toMatch(/./)
      }),
      // The number of runs per provider. Every run draws other inputs.
      { numRuns: 10 },
    )
  })

  it.each(shapes)(
    'hashes a bounded number of bytes of %s, even with the keys of many other sources',
    (_what, sent) => {
      const checked = checkOptions(options, id)
      const one = { key: createSecretKey(Buffer.from('k')), position: 1 }
      const theirs = { ...one, readAs: () => createSecretKey(Buffer.from('other')) }
      const others = Array.from({ length: 32 }, (_, at) => ({ name: `${at}`, keys: Array(8).fill(theirs) }))
      let bytes = 0
      let trials = 0
      const input = {
        description,
        keyring: { keys: [one] },
        endpoint: endpointOf(description, checked),
        toleranceSeconds: 'off' as const,
      }
      explain({
        input,
        others,
        verifierOf:
          ({ keyring }) =>
          (given) => {
            trials += 1
            bytes += given.body.length * keyring.keys.length
            return { ok: false, code: 'SIGNATURE_MISMATCH', detail: 'x' }
          },
        delivery: arriving(
          { method: 'POST', url: '/in/x?a=1&b=2', headers: genuine.headers, body: sent },
          NOW_MS,
        ),
        refusal: { ok: false, code: 'SIGNATURE_MISMATCH', detail: 'x' },
      })
      expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024)
      expect(trials).toBeLessThanOrEqual(160)
    },
  )

  it('hashes a bounded number of bytes: the larger the body, the fewer tries', () => {
    const checked = checkOptions(options, id)
    const tried = sizes.map((sent) => {
      let bytes = 0
      let trials = 0
      const delivery = arriving(
        {
          method: 'POST',
          url: '/in/x',
          headers: genuine.headers,
          body: sent,
        },
        NOW_MS,
      )
      explain({
        input: {
          description,
          keyring: { keys: [] },
          endpoint: endpointOf(description, checked),
          toleranceSeconds: 'off',
        },
        verifierOf: () => (given) => {
          trials += 1
          bytes += given.body.length
          return { ok: false, code: 'SIGNATURE_MISMATCH', detail: 'x' }
        },
        delivery,
        refusal: { ok: false, code: 'SIGNATURE_MISMATCH', detail: 'x' },
      })
      return { trials, bytes }
    })
    for (const { bytes, trials } of tried) {
      expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024)
      expect(trials).toBeLessThanOrEqual(100)
    }
    const counts = tried.map(({ trials }) => trials)
    expect(counts).toEqual([...counts].sort((a, b) => b - a))
  })
})
