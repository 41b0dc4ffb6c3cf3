import { describe, expect, it, vi } from 'vitest'
import { everyProvider } from '../../../test/support/catalogue.ts'
import type { Delivery, Source } from '../contract.ts'
import { custom } from '../index.ts'
import { sampleOf } from '../sample.ts'

/* The amount of parsing that an unverified sender can cause. */

const NOW_MS = 1_700_000_000_000
/** Per text: handshakes may be parsed up to this size. */
const MAX_PARSED_CHARS = 64 * 1024
const FILLER = Array.from({ length: 60_000 }, () => [{}])

const every = await everyProvider()

function posted(body: string, more: Partial<Delivery> = {}): Delivery {
  return {
    method: 'POST',
    url: '/in/x',
    header: () => undefined,
    body: Buffer.from(body),
    receivedAtMs: NOW_MS,
    ...more,
  }
}

/** The lengths of all texts passed to JSON.parse while the source handled a delivery. */
function parsedLengths(source: Source, delivery: Delivery): number[] {
  const spy = vi.spyOn(JSON, 'parse')
  try {
    void source.prepare?.(delivery)
    source.handshake?.(delivery)
    expect(source.verify(delivery)).toMatchObject({ ok: false })
    return spy.mock.calls.map(([text]) => String(text).length)
  } finally {
    spy.mockRestore()
  }
}

describe.each(every)('$id', ({ make, description, options }) => {
  const source: Source = make(options)
  const event = { key: 'evt_1', type: 'thing.made', objectId: 'obj_1', occurredAtMs: NOW_MS }
  // Every word that identifies a handshake, so that none is excluded early.
  const words = (description.handshake ?? []).flatMap(({ when }) => Object.entries(when).flat().map(String))
  const sample = sampleOf(description, [event])
  const isJson = sample.body.toString().startsWith('{')
  const body = isJson
    ? JSON.stringify({ ...JSON.parse(sample.body.toString()), words, challenge: 'x', filler: FILLER })
    : JSON.stringify([words, FILLER])
  const headers: Record<string, string> = { ...sample.headers, 'content-type': 'application/json' }

  it.each([
    ['without headers', {}],
    ['with the headers of an event', headers],
  ])('does not parse a large unsigned body, %s', (_what, sent: Record<string, string>) => {
    for (const url of ['/in/x', '/in/x?validationToken=x&challenge=x']) {
      const delivery = posted(body, { url, header: (name) => sent[name] })
      expect(Math.max(0, ...parsedLengths(source, delivery))).toBeLessThanOrEqual(MAX_PARSED_CHARS)
    }
  })
})

describe('a handshake in the body', () => {
  function shaking(signed: boolean, mode: 'enforce' | 'shadow' = 'enforce') {
    return custom({
      secret: 's',
      mode,
      signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
      event: { key: 'json:id' },
      handshake: [
        { method: 'POST', when: { 'json:type': 'other', 'json:kind': true }, signed },
        { method: 'POST', when: { 'json:type': 'ping' }, signed, reply: { text: '{json:challenge}' } },
      ],
    })
  }
  const ping = (challenge: string): string => JSON.stringify({ type: 'ping', kind: 'other', challenge })

  it('is parsed once, however many handshakes there are', () => {
    const spy = vi.spyOn(JSON, 'parse')
    try {
      expect(shaking(false).handshake?.(posted(ping('x')))).toMatchObject({ ok: true, body: 'x' })
      expect(spy).toHaveBeenCalledTimes(1)
    } finally {
      spy.mockRestore()
    }
  })

  it('is not searched for in bodies over 64 KiB', () => {
    const padded = (size: number): string =>
      JSON.stringify({ type: 'ping', challenge: 'x', pad: 'a'.repeat(size) })
    expect(shaking(false).handshake?.(posted(padded(60_000)))).toMatchObject({ ok: true })
    expect(shaking(false).handshake?.(posted(padded(70_000)))).toBeUndefined()
  })

  it('that must be signed is verified before it is parsed', () => {
    expect(parsedLengths(shaking(true), posted(ping('x')))).toEqual([])
    expect(shaking(true).handshake?.(posted(ping('x')))).toBeUndefined()
  })

  it('that lacks a required signature is refused even in shadow mode', () => {
    const source = shaking(true, 'shadow')
    expect(source.handshake?.(posted(ping('x')))).toMatchObject({ code: 'SIGNATURE_MISSING' })
    expect(source.handshake?.(posted('{"type":"pinged","kind":"other"}'))).toBeUndefined()
  })

  it('is verified once: if it turns out to be a delivery, it is not verified again', () => {
    const source = shaking(true)
    const body = JSON.stringify({ id: 1, type: 'pinged', kind: 'other ping' })
    const asked: string[] = []
    const { headers } = source.deliver({ body })
    const delivery = posted(body, {
      header: (name) => {
        asked.push(name)
        return headers[name]
      },
    })
    expect(source.handshake?.(delivery)).toBeUndefined()
    expect(source.verify(delivery)).toMatchObject({ ok: true })
    expect(asked).toEqual(['x-sig'])
    // The cache holds only the delivery that was just verified: another call verifies again.
    expect(source.verify(delivery)).toMatchObject({ ok: true })
    expect(asked).toEqual(['x-sig', 'x-sig'])
  })
})
