import { createHmac } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { arriving } from '../../../test/support/catalogue.ts'
import type { Delivery, NamedSource, Source } from '../contract.ts'
import { github, gitlab, shopify, square, standardWebhooks, stripe, telegram, twilio } from '../index.ts'
import type { Sample, SigningSource } from '../sign.ts'
import { diagnose } from './diagnose.ts'

/*
 * Common faults besides a wrong secret. Each is named, and the secret is not blamed.
 */

const NOW_MS = 1_700_000_000_000
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=='
const EVENT = {
  object: 'event',
  id: 'evt_1',
  type: 'invoice.paid',
  created: 5,
  data: { object: { id: 'in', b: 1 } },
}
const BODY = JSON.stringify(EVENT)
const receiving = stripe({ secret: SECRET })

function delivered(
  sender: SigningSource,
  sample: Partial<Sample> = {},
  changed: Partial<Delivery> = {},
): Delivery {
  return arriving(sender.deliver({ body: BODY, timestampMs: NOW_MS, ...sample }), NOW_MS, changed)
}

async function told(source: Source, delivery: Delivery, others: NamedSource[] = []): Promise<string> {
  const refusal = source.verify(delivery)
  if (refusal.ok) throw new Error('it was not refused')
  return String(await diagnose({ source, others, delivery, refusal }))
}

const BLAMED = /most likely the secret is wrong/

describe('the body', () => {
  test.each([
    ['gzip', gzipSync(BODY)],
    ['deflate', deflateSync(BODY)],
  ])('compressed with %s after it was signed', async (name, body) => {
    const text = await told(receiving, delivered(receiving, {}, { body }))
    expect(text).toMatch(new RegExp(`compressed with ${name}.*after signing`))
    expect(text).not.toMatch(BLAMED)
  })

  test('compressed, and signed with another secret: the compression is reported', async () => {
    const text = await told(stripe({ secret: 'another' }), delivered(receiving, {}, { body: gzipSync(BODY) }))
    expect(text).toMatch(/compressed with gzip/)
  })

  test('with lost characters, and an invalid gzip', async () => {
    const damaged = Buffer.from(Buffer.from('{"name":"Zo\xeb"}', 'latin1').toString('utf8'))
    const sent = { body: Buffer.from('{"name":"Zo\xeb"}', 'latin1') }
    expect(await told(receiving, delivered(receiving, sent, { body: damaged }))).toMatch(
      /U\+FFFD.*decoded in the wrong charset.*raw bytes/,
    )
    const gzip = Buffer.from(gzipSync(BODY).toString('utf8'))
    expect(await told(receiving, delivered(receiving, {}, { body: gzip }))).toMatch(/U\+FFFD/)
  })

  test.each<[what: string, sent: object, arrives: object]>([
    [
      'sorted by the sender',
      { a: 1, b: { c: 1, d: 2 }, z: [1], zz: 2 },
      { zz: 2, z: [1], a: 1, b: { d: 2, c: 1 } },
    ],
    ['few, in any order', { type: 'x', id: 1, data: { k: 1 } }, { data: { k: 1 }, id: 1, type: 'x' }],
    ['one moved to the front', { a: 1, b: 2, e: 3, d: 4, c: 5 }, { c: 5, a: 1, b: 2, e: 3, d: 4 }],
    ['in the order of jsonb', { id: 1, zz: 1, aaa: 2, type: 'x' }, { type: 'x', aaa: 2, zz: 1, id: 1 }],
  ])('with its names in another order: %s', async (_what, sent, arrives) => {
    const body = Buffer.from(JSON.stringify(arrives))
    const text = await told(receiving, delivered(receiving, { body: JSON.stringify(sent) }, { body }))
    expect(text).toMatch(/names .* different order.*raw bytes/)
    expect(text).not.toMatch(BLAMED)
  })

  test('serialised again, for a provider that also sends forms', async () => {
    const hub = github({ secret: 'hub' })
    const body = Buffer.from(JSON.stringify(EVENT, null, 2))
    expect(await told(hub, delivered(hub, {}, { body }))).toMatch(/parsed and serialised again/)
    const form = 'payload=%7B%22zen%22%3A+1%7D'
    const changed = Buffer.from(form.replace('+', '%20'))
    expect(await told(hub, delivered(hub, { body: form }, { body: changed }))).toMatch(
      /spaces were written as \+/,
    )
  })

  test('with its names in another order, and indented', async () => {
    const sent = JSON.stringify({ b: 1, a: 'Zoë', c: 2 }, null, 2)
    const body = Buffer.from(JSON.stringify({ a: 'Zoë', b: 1, c: 2 }, null, 2))
    expect(await told(receiving, delivered(receiving, { body: sent }, { body }))).toMatch(
      /names .* different order/,
    )
  })

  test.each<[what: string, order: (one: string, other: string) => number, diagnosis: RegExp]>([
    ['alphabetical', (one, other) => (one < other ? -1 : 1), /alphabetical order/],
    [
      'that of jsonb',
      (one, other) => one.length - other.length || (one < other ? -1 : 1),
      /order of PostgreSQL's jsonb/,
    ],
  ])('with an order that cannot be undone: %s', async (_what, order, says) => {
    const sent = { type: 'x', id: 1, zeta: 1, alpha: 2, object: 'e', mode: 'live', created: 5 }
    const entries = Object.entries(sent).sort(([one], [other]) => order(one, other))
    const body = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
    expect(await told(receiving, delivered(receiving, { body: JSON.stringify(sent) }, { body }))).toMatch(
      says,
    )
  })
})

describe('the secret', () => {
  test.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ])('that the sender keeps with a line break (%s)', async (name, ending) => {
    const signature = createHmac('sha256', `hub${ending}`).update(BODY).digest('hex')
    const delivery = delivered(github({ secret: 'hub' }))
    const header = (asked: string): string | undefined =>
      asked === 'x-hub-signature-256' ? `sha256=${signature}` : delivery.header(asked)
    const text = await told(github({ secret: 'hub' }), { ...delivery, header })
    expect(text).toContain(`the secret at the sender ends with a line break (${name})`)
    expect(text).not.toMatch(BLAMED)
  })

  test('of another provider: the secrets of two sources were swapped', async () => {
    const others: NamedSource[] = [
      { name: 'gh', source: github({ secret: 'hub-secret' }) },
      { name: 'shop', source: shopify({ secret: 'shop-secret' }) },
      { name: 'std', source: standardWebhooks({ secret: SECRET }) },
    ]
    for (const [name, secret] of [
      ['gh', 'hub-secret'],
      ['shop', 'shop-secret'],
      ['std', SECRET],
    ] as const)
      expect(await told(stripe({ secret: 'mine' }), delivered(stripe({ secret })), others)).toMatch(
        new RegExp(`made with the secret of the source "${name}".*swapped`),
      )
    const chat = telegram({ secret: 'mine' })
    expect(await told(chat, delivered(telegram({ secret: 'hub-secret' })), others)).toContain('source "gh"')
    expect(await told(gitlab({ secret: 'mine' }), delivered(gitlab({ secret: 'x' })), others)).toMatch(BLAMED)
  })
})

describe('the URL, changed by a proxy', () => {
  const URL = 'https://shop.example/hooks/square?team=a%20b&x=1'
  const registered = square({ secret: SECRET, url: URL })

  test.each<[what: string, configured: string, seen: Partial<Delivery>, headers: Record<string, string>]>([
    ['port', 'https://shop.example:8443/hooks/square?team=a%20b&x=1', {}, {}],
    [
      'prefix',
      'https://shop.example/square?team=a%20b&x=1',
      { url: '/square' },
      { 'x-forwarded-prefix': '/hooks' },
    ],
    [
      'rewritten',
      'https://i/s',
      { url: '/s' },
      { 'x-forwarded-host': 'shop.example', 'x-original-uri': '/hooks/square?team=a%20b&x=1' },
    ],
    [
      'forwarded',
      'http://i/hooks/square?team=a%20b&x=1',
      {},
      { forwarded: 'for=1;host=shop.example;proto=https' },
    ],
    ['encoding', 'https://shop.example/hooks/square', { url: '/hooks/square?team=a+b&x=1' }, {}],
    ['added', 'https://shop.example/hooks/square', { url: '/hooks/square?team=a%20b&x=1&via=proxy' }, {}],
    ['order', 'https://shop.example/hooks/square', { url: '/hooks/square?x=1&team=a%20b' }, {}],
  ])('%s', async (_what, url, seen, headers) => {
    const sent = delivered(registered, {}, seen)
    const header = (name: string): string | undefined => headers[name] ?? sent.header(name)
    const text = await told(square({ secret: SECRET, url }), { ...sent, header })
    expect(text).toMatch(/signed the URL https:\/\/shop\.example\/hooks\/square with its query/)
    expect(text).not.toContain('team')
    expect(text).not.toMatch(BLAMED)
  })

  test('of a coded provider', async () => {
    const url = 'https://shop.example/hooks/twilio'
    const body = 'CallSid=1&CallStatus=done'
    const sent = delivered(twilio({ secret: SECRET, url }), { body }, { url: '/twilio' })
    const header = (name: string): string | undefined =>
      name === 'x-forwarded-prefix' ? '/hooks' : sent.header(name)
    const behind = twilio({ secret: SECRET, url: 'https://shop.example/twilio' })
    expect(await told(behind, { ...sent, header })).toMatch(
      /signed the URL https:\/\/shop\.example\/hooks\/twilio/,
    )
  })
})

test('if nothing else is found, a wrong secret is reported as the most likely cause', async () => {
  expect(await told(stripe({ secret: 'another' }), delivered(receiving))).toMatch(BLAMED)
})
