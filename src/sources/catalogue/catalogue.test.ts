import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { secretFor } from '../../../test/support/catalogue.ts'
import type { Delivery } from '../contract.ts'
import { checkDescription } from '../description.ts'
import { findProvider, providerIds } from '../index.ts'
import type { SourceOptions } from '../options.ts'
import { sampleOf } from '../sample.ts'
import { STAMP_HEADER } from '../schemes/event-key.ts'
import type { SignedDelivery } from '../sign.ts'
import { coversBody, isSignable, takesPublicKey } from '../signature.ts'

/*
 * Tests every provider of the catalogue by its description alone: a signed delivery is verified and
 * identified, and every defect is rejected. Only the provider can sign if its keys are fetched, so
 * these providers have their own tests.
 */

const NOW_MS = 1_700_000_000_000

const found = await Promise.all(
  providerIds.map(async (id) => {
    const make = await findProvider(id)
    if (make === undefined) throw new Error(`the module of ${id} exports no provider of that id`)
    return { id, make, description: checkDescription(make.description) }
  }),
)

function arriving(signed: SignedDelivery, changed: Partial<Delivery> = {}): Delivery {
  const headers: Record<string, string> = { ...signed.headers, [STAMP_HEADER]: 'stamp' }
  const { method, url, body } = signed
  return { method, url, body, header: (name) => headers[name], receivedAtMs: NOW_MS, ...changed }
}

describe('the catalogue', () => {
  it('is in alphabetical order, and every provider names the evidence for its facts', () => {
    expect(providerIds).toEqual([...providerIds].sort())
    for (const { id, description } of found) {
      expect(description.provider).toBe(id)
      expect(description.about?.evidence.length, id).toBeGreaterThan(0)
    }
  })
})

describe.each(found.filter(({ description }) => isSignable(description.signature)))(
  '$id',
  ({ make, description }) => {
    const { signature, settings, event, batch } = description
    const secrets = [secretFor(signature, 0), secretFor(signature, 1)] as const
    const options: SourceOptions = {
      secret: secrets[0],
      url: 'https://example.com/in/x',
      settings: Object.fromEntries(Object.keys(settings).map((name) => [name, `the-${name}`])),
    }
    const source = make(options)
    const sampleEvent = { key: 'evt_1', type: 'thing.made', objectId: 'obj_1', occurredAtMs: NOW_MS - 1_000 }
    const events =
      batch === undefined ? [sampleEvent] : [sampleEvent, { ...sampleEvent, key: 'evt_2', objectId: 'obj_2' }]
    const signed = source.deliver({ ...sampleOf(description, events), timestampMs: NOW_MS })
    const delivery = arriving(signed)

    it('verifies and identifies a delivery that it signed', () => {
      expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
      const single = source.split?.(delivery) ?? [delivery]
      if ('ok' in single) throw new Error(single.detail)
      expect(single).toHaveLength(events.length)
      const identified = single.map((one) => source.identify(one))
      for (const [index, one] of identified.entries()) {
        expect(one).toMatchObject({ ok: true, key: expect.stringMatching(/./) })
        if (!one.ok) continue
        if (typeof event.key === 'string' && event.key.includes(':')) expect(one.key).toBe(events[index]?.key)
        if (event.occurredAt !== undefined)
          expect(Math.abs((one.occurredAtMs ?? 0) - NOW_MS)).toBeLessThan(2_000)
        if (event.objectId !== undefined) expect(one.objectId).toBeDefined()
      }
      expect(new Set(identified.map((one) => one.ok && one.key)).size).toBe(events.length)
      // The worker identifies the recorded event again, and must get the same result.
      for (const one of single) expect(source.identify(one)).toEqual(source.identify({ ...one, url: '/' }))
    })

    it('reports which of two secrets matched, and rejects any other secret', () => {
      expect(make({ ...options, secret: [secrets[1], secrets[0]] }).verify(delivery)).toEqual({
        ok: true,
        secret: 2,
      })
      expect(make({ ...options, secret: secrets[1] }).verify(delivery)).toMatchObject({
        code: 'SIGNATURE_MISMATCH',
      })
    })

    // Left out, not skipped: these deliveries have nothing to reject.
    if (coversBody(signature))
      it('rejects a body with one bit flipped, cut off, or serialised again', () => {
        for (let bit = 0; bit < signed.body.length * 8; bit += takesPublicKey(signature) ? 41 : 1) {
          const body = Buffer.from(signed.body)
          body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          // In a form, `+` and a space are equal, and both are signed as a space.
          if (description.body !== 'json' && sameForm(body, signed.body)) continue
          expect(source.verify(arriving(signed, { body })).ok).toBe(false)
        }
        for (const body of [Buffer.alloc(0), Buffer.from(`${Buffer.from(signed.body)}\n`)])
          expect(source.verify(arriving(signed, { body })).ok).toBe(false)
        if (description.body !== 'json' || batch === 'lines') return
        // An empty object looks the same when it is serialised again, except for the space.
        const again = JSON.stringify(JSON.parse(Buffer.from(signed.body).toString()), null, 1)
        const body = Buffer.from(`${again} `)
        expect(source.verify(arriving(signed, { body }))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
      })

    it('rejects a delivery with a missing or malformed signature', () => {
      const added = Object.keys(signed.headers).filter((name) => !/content-type/.test(name))
      const bare = arriving({ ...signed, headers: {}, url: '/' }, { body: Buffer.from('{}') })
      expect(source.verify(bare).ok).toBe(false)
      for (const text of ['', '?', 'sha256=zz', 't=1,v1=zz', 'Bearer a.b.c', '\0', 'x'.repeat(5_000)]) {
        const headers = { ...signed.headers, ...Object.fromEntries(added.map((name) => [name, text])) }
        if (added.length > 0) expect(source.verify(arriving({ ...signed, headers })).ok).toBe(false)
      }
    })

    const isDated = signature.algorithm === 'coded' && signature.dated
    const tolerance = isDated ? signature.toleranceSeconds : description.timestamp?.toleranceSeconds
    if (tolerance !== undefined)
      it('rejects a signature that is too old or from the future', () => {
        const margin = (tolerance + 2) * 1_000
        expect(source.verify(arriving(signed, { receivedAtMs: NOW_MS + margin }))).toMatchObject({
          code: 'TIMESTAMP_TOO_OLD',
        })
        expect(source.verify(arriving(signed, { receivedAtMs: NOW_MS - margin }))).toMatchObject({
          code: 'TIMESTAMP_IN_FUTURE',
        })
      })

    it('never throws on random headers, bodies and URLs, and accepts none', () => {
      // A proof that does not cover the body is valid for any body, so only invented proofs must be
      // rejected.
      const genuine = coversBody(signature) ? Object.values(signed.headers) : []
      const values = [...genuine, 'v1=00', `t=${NOW_MS / 1000},v1=${'0'.repeat(64)}`]
      const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...values))
      const body = fc.oneof(
        fc.uint8Array(),
        fc.json().map((json) => Buffer.from(json)),
        fc.constant(Buffer.from(coversBody(signature) ? signed.body : '{}')),
      )
      fc.assert(
        fc.property(
          fc.array(fc.option(text, { nil: undefined }), { minLength: 8, maxLength: 8 }),
          body,
          fc.oneof(
            fc.constant('/'),
            fc.webQueryParameters().map((query) => `/?${query}`),
          ),
          fc.constantFrom('POST', 'GET', 'HEAD', 'X'),
          (random, bytes, url, method) => {
            const headers = Object.fromEntries(
              Object.keys(signed.headers).map((name, at) => [name, random[at]]),
            )
            const isGenuine =
              Object.entries(signed.headers).every(([name, value]) => headers[name] === value) ||
              Buffer.from(signed.body).equals(Buffer.from(bytes))
            const strange: Delivery = {
              ...delivery,
              method,
              url,
              header: (name) => headers[name],
              body: bytes,
            }
            const verified = source.verify(strange)
            if (!isGenuine) expect(verified.ok).toBe(false)
            if (!verified.ok) expect(verified.detail).not.toBe('')
            source.handshake?.(strange)
            source.split?.(strange)
            source.identify(strange)
          },
        ),
        { numRuns: 100 },
      )
    })
  },
)

function sameForm(one: Uint8Array, other: Uint8Array): boolean {
  const fields = (body: Uint8Array): string =>
    JSON.stringify([...new URLSearchParams(Buffer.from(body).toString('utf8'))].sort())
  return fields(one) === fields(other)
}
