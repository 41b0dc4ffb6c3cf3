import { createSign, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import type { Delivery } from '../contract.ts'
import { wix } from '../index.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const NOW_MS = 1_700_000_000_000
const NOW = NOW_MS / 1000

const event = {
  eventType: 'wix.bookings.v1.booking_created',
  instanceId: 'instance-1',
  identity: JSON.stringify({ identityType: 'MEMBER' }),
  data: JSON.stringify({ id: 'event-1', entityId: 'booking-1', eventTime: '2023-11-14T22:13:19.123Z' }),
}

function token(claims: object, header: object = { alg: 'RS256', typ: 'JWT' }): Delivery {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part(header)}.${part(claims)}`
  const body = Buffer.from(`${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`)
  return { method: 'POST', url: '/', header: () => undefined, body, receivedAtMs: NOW_MS }
}

describe('wix', () => {
  const source = wix({ secret: publicKey.export({ format: 'pem', type: 'spki' }).toString() })

  it('reads the JSON that is nested in the JSON of the token', () => {
    const delivery = token({ data: JSON.stringify(event), iat: NOW, exp: NOW + 60 })
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
    expect(source.identify(delivery)).toMatchObject({
      key: 'event-1',
      type: 'wix.bookings.v1.booking_created',
      objectId: 'booking-1',
      occurredAtMs: NOW_MS - 877,
      object: { id: 'event-1' },
      payload: { data: { instanceId: 'instance-1', identity: { identityType: 'MEMBER' } } },
    })
  })

  it('rejects an expired token, and a token of another algorithm', () => {
    const data = JSON.stringify(event)
    expect(source.verify(token({ data, iat: NOW - 900, exp: NOW - 301 }))).toMatchObject({
      code: 'TIMESTAMP_TOO_OLD',
    })
    for (const alg of ['none', 'HS256', 'RS512', undefined])
      expect(source.verify(token({ data, iat: NOW }, { alg }))).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
  })

  it('parses the claims of a token only if its signature is valid', () => {
    const { body, ...forged } = token({ data: 'x'.repeat(100_000), iat: NOW })
    const spy = vi.spyOn(JSON, 'parse')
    try {
      // Changes the last but one character: in the last character, unused bits would only change
      // the spelling.
      const text = Buffer.from(body).toString()
      const other = `${text.slice(0, -2)}${text.at(-2) === 'A' ? 'B' : 'A'}${text.at(-1)}`
      expect(source.verify({ ...forged, body: Buffer.from(other) })).toMatchObject({
        code: 'SIGNATURE_MISMATCH',
      })
      expect(Math.max(...spy.mock.calls.map(([parsed]) => parsed.length))).toBeLessThan(100)
    } finally {
      spy.mockRestore()
    }
  })

  it.each([{}, { data: 1 }, { data: 'x' }])('finds no event in %o', (claims) => {
    expect(source.identify(token(claims))).toMatchObject({ ok: false })
  })

  it.each([{ data: '[]' }, { data: '{"data":"{"}' }, { data: '{"data":null}' }])(
    'finds no key in %o',
    (claims) => {
      expect(source.identify(token(claims))).toMatchObject({ unread: { code: 'EVENT_KEY_MISSING' } })
    },
  )

  it('can sign only with a private key', () => {
    expect(() => source.sign({ body: '{}' })).toThrow(/^CONFIG_INVALID/)
  })
})
