import { describe, expect, it, test } from 'vitest'
import type { Delivery, Source } from '../contract.ts'
import { type CustomOptions, custom } from '../custom.ts'
import { github, slack, stripe } from '../index.ts'
import { parsePath } from './rules.ts'

function source(redact: string[], options: Partial<CustomOptions> = {}): Source {
  return custom({
    provider: 'test',
    secret: 'secret',
    signature: { algorithm: 'hmac-sha256', header: 'signature', encoding: 'hex' },
    event: { key: 'json:id', type: 'json:type' },
    ...options,
    redact,
  } as CustomOptions)
}

function stored(from: Source, body: string, contentType?: string): string {
  const delivery: Delivery = {
    method: 'POST',
    url: '/',
    header: (name) => (name === 'content-type' ? contentType : undefined),
    body: Buffer.from(body),
    receivedAtMs: 0,
  }
  return Buffer.from(from.redaction?.body(delivery) ?? delivery.body).toString('utf8')
}

const FORM = { body: 'form', event: { key: 'form:id', type: 'const:form' } } as const

test('a form loses the values of the named fields, and no other byte', () => {
  const from = source(['form:email', 'form:a b'], FORM)
  expect(stored(from, 'id=1&email=a%40b.c&e%6Dail=x&a+b=2&flag&c=%C3%a9')).toBe(
    'id=1&email=%5Bredacted%5D&e%6Dail=%5Bredacted%5D&a+b=%5Bredacted%5D&flag&c=%C3%a9',
  )
  expect(stored(from, '?email=a&id=1')).toBe('?email=%5Bredacted%5D&id=1')
})

test('JSON in a field of a form is redacted by path', () => {
  const from = source(['$.user.email', 'form:token'], {
    body: { form: 'payload' },
    event: { key: 'json:id', type: 'json:type' },
  })
  const json = '{"id":"1","type":"x","user":{"email":"a@b.c"}}'
  const body = `token=t&payload=${encodeURIComponent(json)}&x=%41`
  expect(stored(from, body)).toBe(
    `token=%5Bredacted%5D&payload=${encodeURIComponent(json.replace('a@b.c', '[redacted]'))}&x=%41`,
  )
  // Nothing is replaced, so the sender's own spelling stays.
  expect(stored(from, 'payload=%7b%22id%22:1}')).toBe('payload=%7b%22id%22:1}')
})

describe('a body to which the rules cannot be applied is replaced as a whole:', () => {
  it.each([
    ['no JSON', source(['$.a']), 'a=secret', undefined],
    ['a multipart form', source(['form:a'], FORM), '--x\r\n', 'multipart/form-data; boundary=x'],
    ['JSON that is broken', source(['$.a']), '{"a":"secret"', undefined],
    ['broken JSON in a form', source(['$.a'], { body: { form: 'p' } }), 'p={"a":"secret"', undefined],
    [
      'a form, with rules for JSON only',
      source(['$.a'], { body: { jsonOr: 'form' } }),
      'a=secret',
      undefined,
    ],
    ['anything, by the rule $', source(['$']), '{"a":1}', undefined],
  ])('%s', (_, from, body, contentType) => {
    expect(stored(from, body, contentType)).toBe('"[redacted]"')
  })
})

test('headers are hidden by name', () => {
  const { redaction } = source(['header:X-User'])
  expect(redaction?.hidesHeader('x-USER')).toBe(true)
  expect(redaction?.hidesHeader('x-other')).toBe(false)
  expect(stored(source(['header:X-User']), '{"a": 1}')).toBe('{"a": 1}')
})

describe('with a rule for the body, the headers that are computed from it are hidden:', () => {
  const hides = (from: Source, ...names: string[]): string[] =>
    names.filter((name) => from.redaction?.hidesHeader(name))

  it('the signature of the provider, its older one, and digests', () => {
    const names = [
      'X-Hub-Signature-256',
      'x-hub-signature',
      'content-digest',
      'Content-MD5',
      'x-github-event',
    ]
    expect(hides(github({ secret: 'x', redact: ['$.sender.email'] }), ...names)).toEqual(names.slice(0, 4))
    const declared = source(['$.a'], {
      signature: { algorithm: 'hmac-sha256', header: 'x-odd', encoding: 'hex' },
    })
    expect(hides(declared, 'x-odd', 'content-type', 'date', 'x-assigned-to')).toEqual(['x-odd'])
    for (const name of [
      'plaid-verification',
      'paypal-transmission-sig',
      'x-shopify-hmac-sha256',
      'x-goog-hash',
    ])
      expect(hides(source(['form:a'], FORM), name)).toEqual([name])
  })

  it('its length: next to a redacted body it shows the length of the hidden value', () => {
    const names = [
      'content-length',
      'Content-Length',
      'x-original-content-length',
      'x-body-size',
      'content-range',
      'etag',
    ]
    expect(hides(source(['$.a']), ...names)).toEqual(names)
    expect(hides(source(['$']), 'content-length')).toEqual(['content-length'])
    expect(hides(source(['header:x-user']), 'content-length')).toEqual([])
    expect(hides(source(['$.a']), 'x-resize', 'content-type', 'x-wavelength')).toEqual([])
  })

  it('but not without such a rule, nor headers that name the event', () => {
    expect(hides(source(['header:x-user']), 'signature')).toEqual([])
    const event: CustomOptions['event'] = { key: 'header:x-event-hash', type: 'json:type' }
    expect(hides(source(['$.a'], { event }), 'x-event-hash')).toEqual([])
  })
})

test('without rules there is no redaction', () => {
  expect(source([]).redaction).toBeUndefined()
  expect(stripe({ secret: 'whsec_x' }).redaction).toBeUndefined()
})

test('an id of the object that is hidden in the body is not stored in its column either', () => {
  const event: CustomOptions['event'] = {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:data.id', 'json:user'],
  }
  expect(source(['$.data'], { event }).redaction?.hidesObjectId).toBe(true)
  expect(source(['$.user'], { event }).redaction?.hidesObjectId).toBe(true)
  expect(source(['$'], { event }).redaction?.hidesObjectId).toBe(true)
  expect(source(['$.data.email'], { event }).redaction?.hidesObjectId).toBe(false)
})

test('every provider accepts rules', () => {
  expect(
    stored(stripe({ secret: 'whsec_x', redact: ['$.data.object.email'] }), '{"data":{"object":{"email":1}}}'),
  ).toBe('{"data":{"object":{"email":"[redacted]"}}}')
  expect(slack({ secret: 'x', redact: ['$.event.user', 'header:x-user'] }).redaction).toBeDefined()
})

describe('a rule that cannot be applied is refused:', () => {
  it.each([
    ['$.id', {}, 'json:id, but hookonce stores the key of the event'],
    ['$.**.type', {}, 'json:type, but hookonce stores the type'],
    ['$.*', {}, 'stores the key of the event'],
    ['header:x-id', { event: { key: 'header:X-Id', type: 'json:type' } }, 'stores the key of the event'],
    ['$.events[*].id', { batch: 'json:events[]', event: { key: 'item:id', type: 'item:type' } }, 'item:id'],
    ['form:id', FORM, 'form:id'],
    ['$.a', FORM, 'name fields as form:<field>'],
    ['form:a', {}, 'this provider sends no forms'],
    ['$.a', { body: 'xml' }, 'this provider sends XML'],
    ['customer.email', {}, 'redact.0: "customer.email": expected a path such as $.customer.email'],
    ['$.**', {}, 'expected a path'],
    ['$.a.', {}, 'expected a path'],
    ['$.a[x]', {}, 'expected a path'],
    ['header:a b', {}, 'expected a path'],
  ])('%s', (rule, options, message) => {
    expect(() => source([rule], options as Partial<CustomOptions>)).toThrow(message)
  })

  it('but a rule for a value next to the identity, or for a hashed value, is not', () => {
    expect(() => source(['$.data.email', '$.**.name'])).not.toThrow()
    const event: CustomOptions['event'] = { key: { hash: ['json:email', 'json:at'] }, type: 'json:type' }
    expect(() => source(['$.email'], { event })).not.toThrow()
    expect(() => github({ secret: 'x', redact: ['$.sender.email'] })).not.toThrow()
  })
})

test('the length of a path is bounded', () => {
  expect(parsePath(`$${'.a'.repeat(30)}`)).toHaveLength(30)
  expect(parsePath(`$${'.a'.repeat(31)}`)).toBeUndefined()
  expect(() => source(Array.from({ length: 65 }, (_, n) => `$.a${n}`))).toThrow('redact')
})
