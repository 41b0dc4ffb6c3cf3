import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type CustomOptions, custom, type Delivery } from '../index.ts'

function source(event: CustomOptions['event']) {
  return custom({
    secret: 's3cret',
    signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
    event,
  })
}

function identify(
  event: CustomOptions['event'],
  body: string | Uint8Array,
  headers: Record<string, string> = {},
) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const delivery: Delivery = {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: bytes,
    receivedAtMs: 0,
  }
  return source(event).identify(delivery)
}

const byId = { key: 'json:id' } as const

describe('the body', () => {
  it.each([
    ['no JSON', 'Hello, World!'],
    ['cut off', '{"id":"a"'],
    ['a number', '5'],
    ['null', 'null'],
    ['a string', '"id"'],
    ['form data', 'payload=%7B%7D'],
    ['a byte order mark', '\ufeff{"id":"a"}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from('7b226964223a22eda080227d', 'hex')],
  ])('that is %s is unparsable', (_name, body) => {
    expect(identify(byId, body)).toMatchObject({ ok: false, code: 'BODY_UNPARSABLE' })
  })

  it('is not quoted in the rejection, but its content-type is', () => {
    const refusal = identify(byId, 'private', { 'content-type': 'text/plain' })
    expect(refusal).toMatchObject({ detail: expect.stringContaining('text/plain') })
    expect(refusal).toMatchObject({ detail: expect.not.stringContaining('private') })
  })

  it.each([1_000, 1_000_000])('nested %i deep does not throw', (depth) => {
    const arrays = `{"id":"a","x":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    expect(() => identify(byId, arrays)).not.toThrow()
    expect(() => identify(byId, objects)).not.toThrow()
  })

  it('may be an array', () => {
    expect(identify({ key: 'json:0.id' }, '[{"id":7}]')).toMatchObject({ ok: true, key: '7' })
  })
})

/**
 * Genuine, but without a documented key or type: recorded under a key derived from type and body.
 */
const withoutKey = {
  ok: true,
  key: expect.stringMatching(/^[0-9a-f]{64}$/),
  unread: { code: 'EVENT_KEY_MISSING' },
}

describe('the key', () => {
  it.each([
    ['"evt_1"', 'evt_1'],
    ['42', '42'],
    ['-1', '-1'],
    ['9007199254740991', '9007199254740991'],
    ['1700000000.25', '1700000000.25'],
    ['" a "', ' a '],
  ])('%s becomes %s', (json, key) => {
    expect(identify(byId, `{"id":${json}}`)).toMatchObject({ ok: true, key })
  })

  it.each(['null', '""', '"  "', '{}', '[]', '["a"]', 'true', '9007199254740993', '1e400'])(
    '%s is not a key',
    (json) => {
      expect(identify(byId, `{"id":${json}}`)).toMatchObject(withoutKey)
    },
  )

  it('has a limit in bytes', () => {
    expect(identify(byId, JSON.stringify({ id: 'a'.repeat(1024) }))).toMatchObject({ ok: true })
    expect(identify(byId, JSON.stringify({ id: 'é'.repeat(512) }))).toMatchObject({ key: 'é'.repeat(512) })
    const read = (id: string, n = 0) => identify(byId, JSON.stringify({ id, n }))
    for (const id of ['a'.repeat(1025), 'é'.repeat(513)])
      expect(read(id)).toMatchObject({
        ok: true,
        key: expect.stringMatching(/^[0-9a-f]{64}$/),
        unread: { code: 'EVENT_KEY_TOO_LONG' },
      })
    const keyOf = (id: string, n?: number) => Object(read(id, n)).key
    expect(keyOf('a'.repeat(2000), 1)).toBe(keyOf('a'.repeat(2000), 2))
    expect(keyOf('a'.repeat(2000))).not.toBe(keyOf('a'.repeat(2001)))
  })

  it('with NUL or half a surrogate pair stays distinct, escaped so that a database accepts it', () => {
    const keys = ['a\0', 'a\ud800', 'a\udfff', 'a'].map((id) => {
      const result = identify(byId, JSON.stringify({ id }))
      return result.ok ? result.key : result.code
    })
    expect(keys).toEqual(['"a\\u0000"', '"a\\ud800"', '"a\\udfff"', 'a'])
    expect(identify(byId, '{"id":"\\ud83d\\ude00"}')).toMatchObject({ key: '😀' })
  })

  it.each([
    '__proto__',
    'constructor',
    'constructor.name',
    '__proto__.constructor.name',
    'toString',
    'id.length',
  ])('is not found at %s when it was not sent', (path) => {
    expect(identify({ key: `json:${path}` }, '{"id":"abc"}')).toMatchObject(withoutKey)
  })

  it('is found at such a name when it was sent, and pollutes nothing', () => {
    expect(identify({ key: 'json:__proto__.id' }, '{"__proto__":{"id":"x"}}')).toMatchObject({ key: 'x' })
    expect(({} as Record<string, unknown>).id).toBeUndefined()
  })

  it('is the first declared field that is present', () => {
    const event = { key: ['header:x-id', 'json:a', 'json:b'] } as CustomOptions['event']
    expect(identify(event, '{"a":"","b":"b"}')).toMatchObject({ key: 'b' })
    expect(identify(event, '{"a":"a","b":"b"}', { 'x-id': 'h' })).toMatchObject({ key: 'h' })
  })

  it('is the hash of declared fields, with their boundaries', () => {
    const event = { key: { hash: ['json:a', 'json:b'] } } as CustomOptions['event']
    const keys = ['{"a":"x","b":"yz"}', '{"a":"xy","b":"z"}', '{"a":"x","b":"yz","c":1}'].map((body) => {
      const result = identify(event, body)
      return result.ok ? result.key : result.code
    })
    expect(keys[0]).not.toBe(keys[1])
    expect(keys[0]).toBe(keys[2])
    expect(keys[0]).toBe(createHash('sha256').update('["x","yz"]').digest('hex'))
    expect(identify(event, '{"a":"x"}')).toMatchObject(withoutKey)
  })

  it('is the hash of a header and the body, so that the header distinguishes equal bodies', () => {
    const event: CustomOptions['event'] = { key: { hash: ['header:x-kind', 'body-hash'] } }
    const keys = [
      identify(event, '{"a":1}', { 'x-kind': 'made' }),
      identify(event, '{"a":1}', { 'x-kind': 'lost' }),
      identify(event, '{"a":2}', { 'x-kind': 'made' }),
      identify(event, '{"a":1}', { 'x-kind': 'made' }),
    ].map((result) => (result.ok ? result.key : result.code))
    expect(new Set(keys).size).toBe(3)
    expect(keys[3]).toBe(keys[0])
    expect(identify(event, '{"a":1}')).toMatchObject(withoutKey)
  })

  it('is derived from type and body if the event has no key', () => {
    const event = { key: 'header:x-id', type: 'header:x-topic' } as const
    const keys = [
      identify(event, '{"a":1}', { 'x-topic': 'made' }),
      identify(event, '{"a":1}', { 'x-topic': 'lost' }),
      identify(event, '{"a":2}', { 'x-topic': 'made' }),
      identify(event, '{"a":1}', { 'x-topic': 'made' }),
    ].map((result) => (result.ok ? result.key : result.code))
    expect(new Set(keys).size).toBe(3)
    expect(keys[3]).toBe(keys[0])
  })

  it('may hash a part of the JSON as it is written, so that large numbers stay distinct', () => {
    const event: CustomOptions['event'] = { key: { hash: ['json:event', { textOf: 'json:payload' }] } }
    const keys = [
      '{"event":"e","payload":{"id":9007199254740993}}',
      '{"event":"e","payload":{"id":9007199254740992}}',
      '{"sent":2,"payload":{"id":9007199254740993},"event":"e"}',
    ].map((body) => {
      const result = identify(event, body)
      return result.ok ? result.key : result.code
    })
    expect(keys[0]).not.toBe(keys[1])
    expect(keys[2]).toBe(keys[0])
    expect(identify(event, '{"event":"e"}')).toMatchObject(withoutKey)
  })

  it('is the hash of the body with key: body-hash', () => {
    expect(identify({ key: 'body-hash' }, '{"a":1}')).toMatchObject({
      key: createHash('sha256').update('{"a":1}').digest('hex'),
    })
  })
})

describe('the type', () => {
  it('is "unknown" if none is declared or sent', () => {
    expect(identify(byId, '{"id":1,"type":"x"}')).toMatchObject({ type: 'unknown' })
    expect(identify({ ...byId, type: 'json:type' }, '{"id":1}')).toMatchObject({ type: 'unknown' })
    expect(identify({ ...byId, type: 'json:type' }, '{"id":1,"type":""}')).toMatchObject({ type: 'unknown' })
  })

  it('is joined from parts, of which only the first is required', () => {
    const event = {
      ...byId,
      type: { join: ['header:X-Event', 'json:action'], separator: '.' },
    } as CustomOptions['event']
    expect(identify(event, '{"id":1,"action":"b"}', { 'x-event': 'a' })).toMatchObject({ type: 'a.b' })
    expect(identify(event, '{"id":1}', { 'x-event': 'a' })).toMatchObject({ type: 'a' })
    expect(identify(event, '{"id":1,"action":"b"}')).toMatchObject({ type: 'unknown' })
  })

  it('has at most 255 bytes', () => {
    const event = { ...byId, type: 'json:type' } as const
    const typeOf = (type: string) => Object(identify(event, JSON.stringify({ id: 1, type }))).type
    expect(typeOf('a'.repeat(255))).toBe('a'.repeat(255))
    for (const letter of ['a', 'é', '😀', '\ufeffa']) {
      const type = typeOf(letter.repeat(300))
      expect(Buffer.byteLength(type)).toBeGreaterThan(250)
      expect(Buffer.byteLength(type)).toBeLessThanOrEqual(255)
      expect(type).toMatch(new RegExp(`^(?:${letter})+…[0-9a-f]{64}$`, 'u'))
      expect(type).toBe(typeOf(letter.repeat(300)))
      expect(type).not.toBe(typeOf(letter.repeat(301)))
    }
    expect(identify(event, JSON.stringify({ id: 1, type: 'a'.repeat(256) }))).toMatchObject({
      key: '1',
      unread: { code: 'EVENT_TYPE_TOO_LONG' },
    })
  })
})

describe('the rest', () => {
  it('leaves out an object id that is not valid', () => {
    const event = { ...byId, objectId: 'json:object' } as const
    for (const object of [undefined, null, {}, 'x'.repeat(2000), 2 ** 60]) {
      expect(identify(event, JSON.stringify({ id: 1, object }))).toMatchObject({
        ok: true,
        objectId: undefined,
      })
    }
  })

  it.each([
    ['s', 1_700_000_000, 1_700_000_000_000],
    ['s', '1700000000', 1_700_000_000_000],
    ['ms', 1_700_000_000_123, 1_700_000_000_123],
    ['s', '2023-11-14T22:13:20Z', 1_700_000_000_000],
    ['iso', '2023-11-15T00:13:20.5+02:00', 1_700_000_000_500],
    ['iso', '2023-11-14', undefined],
    ['iso', 'Tue, 14 Nov 2023 22:13:20 GMT', 1_700_000_000_000],
    ['iso', '2023-11-14 22:13:20', 1_700_000_000_000],
    ['iso', '2023-11-14 22:13:20 UTC', 1_700_000_000_000],
    ['iso', '2023-11-14T23:13:20+0100', 1_700_000_000_000],
    ['s', 1_700_000_000.5, 1_700_000_000_500],
    ['iso', '2023-13-45T99:99:99Z', undefined],
    ['iso', 1_700_000_000, undefined],
    ['s', 999_999_999_999_999, undefined],
    ['s', -5, undefined],
    ['s', null, undefined],
    ['s', {}, undefined],
    ['s', { toString: 1, valueOf: 1 }, undefined],
    ['s', [[1]], undefined],
    ['s', true, undefined],
    ['ms', 1e300, undefined],
  ] as const)('reads a date in %s from %o', (unit, at, occurredAtMs) => {
    const event = { ...byId, occurredAt: { at: 'json:at', unit } } as const
    expect(identify(event, JSON.stringify({ id: 1, at }))).toMatchObject({ ok: true, occurredAtMs })
  })

  it.each([
    ['iso', '2023-11-15T00:13:20.5+02:00', { as: 'timestamp', value: '2023-11-14T22:13:20.500000000Z' }],
    ['iso', 'yesterday', undefined],
    ['s', 1_700_000_000, { as: 'timestamp', value: '2023-11-14T22:13:20.000000000Z' }],
    ['ms', 1_700_000_000_500, { as: 'timestamp', value: '2023-11-14T22:13:20.500000000Z' }],
    ['number', 42, { as: 'number', value: '42' }],
    ['number', 'x', undefined],
    ['text', 'v7', { as: 'text', value: 'v7' }],
    ['text', {}, undefined],
  ] as const)('reads a version in %s from %o, and leaves out an invalid one', (unit, v, version) => {
    const event = { ...byId, version: { at: 'json:v', unit } } as const
    expect(identify(event, JSON.stringify({ id: 1, v }))).toMatchObject({ ok: true, version })
  })

  it('returns the object, or the whole payload', () => {
    expect(
      identify({ ...byId, object: 'json:data.object' }, '{"id":1,"data":{"object":{"x":2}}}'),
    ).toMatchObject({
      object: { x: 2 },
    })
    expect(identify({ ...byId, object: 'json:data.object' }, '{"id":1}')).toMatchObject({ object: undefined })
    expect(identify(byId, '{"id":1}')).toMatchObject({ object: { id: 1 } })
  })
})
