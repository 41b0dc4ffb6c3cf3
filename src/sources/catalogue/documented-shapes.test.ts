import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../model/durations.ts'
import type { Delivery } from '../contract.ts'
import {
  custom,
  github,
  lemonsqueezy,
  type SigningSource,
  shopify,
  standardWebhooks,
  stripe,
} from '../index.ts'
import type { SourceOptions } from '../options.ts'

const NOW_MS = 1_700_000_000_000
const SECRETS = ['c2VjcmV0LW9uZS1zZWNyZXQtb25l', 'c2VjcmV0LXR3by1zZWNyZXQtdHdv'] as const

interface Case {
  readonly name: string
  readonly make: (options: SourceOptions) => SigningSource
  readonly signatureHeader: string
  readonly dated: boolean
  readonly payload: object
  readonly headers?: Record<string, string>
  readonly expected: {
    key: string | RegExp
    type: string
    objectId: string
    occurredAtMs: number | undefined
  }
  readonly object: unknown
}

const lemonOrder = {
  type: 'orders',
  id: '1',
  attributes: { status: 'paid', updated_at: '2023-11-14T22:13:20.000000Z' },
}

const cases: Case[] = [
  {
    name: 'stripe',
    make: stripe,
    signatureHeader: 'stripe-signature',
    dated: true,
    payload: {
      id: 'evt_1',
      object: 'event',
      type: 'invoice.paid',
      created: 1_699_999_990,
      livemode: false,
      data: { object: { id: 'in_1', amount: 1200 } },
    },
    expected: { key: 'evt_1', type: 'invoice.paid', objectId: 'in_1', occurredAtMs: 1_699_999_990_000 },
    object: { id: 'in_1', amount: 1200 },
  },
  {
    name: 'stripe, thin event',
    make: stripe,
    signatureHeader: 'stripe-signature',
    dated: true,
    payload: {
      id: 'evt_2',
      object: 'v2.core.event',
      type: 'v1.billing.meter.no_meter_found',
      created: '2023-11-14T22:13:20.123Z',
      related_object: { id: 'mtr_1', type: 'billing.meter' },
    },
    expected: {
      key: 'evt_2',
      type: 'v1.billing.meter.no_meter_found',
      objectId: 'mtr_1',
      occurredAtMs: 1_700_000_000_123,
    },
    object: { id: 'mtr_1', type: 'billing.meter' },
  },
  {
    name: 'github',
    make: github,
    signatureHeader: 'x-hub-signature-256',
    dated: false,
    payload: { action: 'opened', pull_request: { id: 279_147_437 }, repository: { id: 7 } },
    headers: {
      'X-GitHub-Event': 'pull_request',
      'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    },
    expected: {
      key: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      type: 'pull_request.opened',
      objectId: '279147437',
      occurredAtMs: undefined,
    },
    object: { action: 'opened', pull_request: { id: 279_147_437 }, repository: { id: 7 } },
  },
  {
    name: 'github, without an action',
    make: github,
    signatureHeader: 'x-hub-signature-256',
    dated: false,
    payload: { ref: 'refs/heads/main', after: '0d1a26e6', repository: { id: 7 } },
    headers: { 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': 'd-2' },
    expected: { key: 'd-2', type: 'push', objectId: '0d1a26e6', occurredAtMs: undefined },
    object: { ref: 'refs/heads/main', after: '0d1a26e6', repository: { id: 7 } },
  },
  {
    name: 'shopify',
    make: shopify,
    signatureHeader: 'x-shopify-hmac-sha256',
    dated: false,
    payload: { id: 820_982_911_946_154_500, admin_graphql_api_id: 'gid://shopify/Order/820982911946154508' },
    headers: {
      'X-Shopify-Topic': 'orders/create',
      'X-Shopify-Webhook-Id': 'b54557e4',
      'X-Shopify-Event-Id': 'shared-by-subscriptions',
      'X-Shopify-Triggered-At': '2023-11-14T22:13:20.877041743Z',
    },
    // The number of Shopify's own sample order exceeds what JSON numbers hold, so the text id is
    // used.
    expected: {
      key: 'b54557e4',
      type: 'orders/create',
      objectId: 'gid://shopify/Order/820982911946154508',
      occurredAtMs: 1_700_000_000_877,
    },
    object: { id: 820_982_911_946_154_500, admin_graphql_api_id: 'gid://shopify/Order/820982911946154508' },
  },
  {
    name: 'standard-webhooks',
    make: standardWebhooks,
    signatureHeader: 'webhook-signature',
    dated: true,
    payload: { type: 'contact.created', timestamp: '2023-11-14T22:13:20Z', data: { id: 'c_1' } },
    headers: { 'webhook-id': 'msg_1' },
    expected: { key: 'msg_1', type: 'contact.created', objectId: 'c_1', occurredAtMs: NOW_MS },
    object: { id: 'c_1' },
  },
  {
    name: 'lemonsqueezy',
    make: lemonsqueezy,
    signatureHeader: 'x-signature',
    dated: false,
    payload: { meta: { event_name: 'order_created' }, data: lemonOrder },
    headers: { 'X-Event-Name': 'not_signed_so_not_read' },
    expected: { key: /^[0-9a-f]{64}$/, type: 'order_created', objectId: '1', occurredAtMs: NOW_MS },
    object: lemonOrder,
  },
  {
    name: 'custom',
    make: (options) =>
      custom({
        ...options,
        provider: 'acme',
        signature: {
          algorithm: 'hmac-sha512',
          header: 'X-Acme-Signature',
          encoding: 'base64url',
          content: 'v0:{timestamp}:{body}:{header:X-Acme-Id}',
        },
        timestamp: { at: 'header:X-Acme-Date', unit: 'iso' },
        event: { key: 'header:X-Acme-Id', type: 'json:kind', objectId: 'json:items.0.id' },
      }),
    signatureHeader: 'x-acme-signature',
    dated: true,
    payload: { kind: 'made', items: [{ id: 5 }] },
    headers: { 'X-Acme-Id': 'a-1' },
    expected: { key: 'a-1', type: 'made', objectId: '5', occurredAtMs: undefined },
    object: { kind: 'made', items: [{ id: 5 }] },
  },
]

function deliver(
  headers: Record<string, string>,
  body: Uint8Array | string,
  receivedAtMs = NOW_MS,
): Delivery {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return { method: 'POST', url: '/in/x', header: (name) => headers[name], body: bytes, receivedAtMs }
}

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name))
}

describe.each(cases)('$name', ({ make, signatureHeader, payload, headers = {}, expected, object }) => {
  const source = make({ secret: SECRETS[0] })
  const body = JSON.stringify(payload)
  const signed = source.sign({ body, headers, timestampMs: NOW_MS })

  it('verifies and identifies a signed delivery', () => {
    expect(source.verify(deliver(signed, body))).toEqual({ ok: true, secret: 1 })
    expect(source.identify(deliver(signed, body))).toMatchObject({
      ok: true,
      ...expected,
      key: typeof expected.key === 'string' ? expected.key : expect.stringMatching(expected.key),
      payload,
      object,
    })
  })

  it('refuses another secret', () => {
    expect(make({ secret: SECRETS[1] }).verify(deliver(signed, body))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
  })

  it('refuses a body with any one bit flipped', () => {
    for (let bit = 0; bit < body.length * 8; bit++) {
      const flipped = Buffer.from(body)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(source.verify(deliver(signed, flipped))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    }
  })

  it('rejects a body that was parsed and serialised again', () => {
    const spaced = JSON.stringify(payload, null, 1)
    expect(source.verify(deliver(signed, spaced))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('refuses an empty body, and a signed empty body as unparsable', () => {
    expect(source.verify(deliver(signed, ''))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    const empty = deliver(source.sign({ body: '', headers, timestampMs: NOW_MS }), '')
    expect(source.verify(empty)).toMatchObject({ ok: true })
    expect(source.identify(empty)).toMatchObject({ code: 'BODY_UNPARSABLE' })
  })

  it('rejects a missing, an empty and a malformed signature', () => {
    expect(source.verify(deliver(without(signed, signatureHeader), body))).toMatchObject({
      code: 'SIGNATURE_MISSING',
    })
    expect(source.verify(deliver({ ...signed, [signatureHeader]: '' }, body))).toMatchObject({
      code: 'SIGNATURE_MISSING',
    })
    for (const senseless of ['?', 'sha256=zz', 't=1,v1=zz', 'v1,zz', 'v1,', '=', ',', ' ', 'v0=00', '\0']) {
      expect(source.verify(deliver({ ...signed, [signatureHeader]: senseless }, body))).toMatchObject({
        code: 'SIGNATURE_MALFORMED',
      })
    }
  })

  it('reports which of two secrets matched', () => {
    const second = make({ secret: [SECRETS[1], SECRETS[0]] })
    expect(second.verify(deliver(signed, body))).toEqual({ ok: true, secret: 2 })
    const unset = make({ secret: [undefined, SECRETS[0]] })
    expect(unset.verify(deliver(signed, body))).toEqual({ ok: true, secret: 2 })
  })

  it('never throws on random headers and bodies, and accepts none', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...Object.values(signed)),
      fc.string().map((noise) => `t=${NOW_MS / 1000},v1=${noise}`),
      fc.stringMatching(/^[0-9a-f]{64}$/).map((hex) => `sha256=${hex}`),
    )
    fc.assert(
      fc.property(
        fc.record(
          Object.fromEntries(Object.keys(signed).map((name) => [name, fc.option(text, { nil: undefined })])),
        ),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((json) => Buffer.from(json)),
        ),
        (random, bytes) => {
          const delivery = deliver(random as Record<string, string>, bytes)
          expect(source.verify(delivery).ok).toBe(false)
          source.identify(delivery)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('verifies its own signature over any body, and identifies without throwing', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 2000 }),
          fc.json().map((json) => Buffer.from(json)),
        ),
        (bytes) => {
          const delivery = deliver(source.sign({ body: bytes, headers, timestampMs: NOW_MS }), bytes)
          expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
          source.identify(delivery)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe.each(cases.filter(({ dated }) => dated))(
  'the signed date of $name',
  ({ make, payload, headers = {} }) => {
    const source = make({ secret: SECRETS[0] })
    const body = JSON.stringify(payload)
    const signed = source.sign({ body, headers, timestampMs: NOW_MS })

    it('rejects a date that is too old or in the future, exact to the second', () => {
      expect(source.verify(deliver(signed, body, NOW_MS + 300_000))).toMatchObject({ ok: true })
      expect(source.verify(deliver(signed, body, NOW_MS + 300_001))).toMatchObject({
        code: 'TIMESTAMP_TOO_OLD',
      })
      expect(source.verify(deliver(signed, body, NOW_MS - 300_000))).toMatchObject({ ok: true })
      expect(source.verify(deliver(signed, body, NOW_MS - 300_001))).toMatchObject({
        code: 'TIMESTAMP_IN_FUTURE',
      })
      expect(source.verify(deliver(signed, body, Number.NaN))).toMatchObject({ ok: false })
    })

    it('honours toleranceSeconds', () => {
      const late = deliver(signed, body, NOW_MS + 3_600_000)
      expect(make({ secret: SECRETS[0], toleranceSeconds: 3600 }).verify(late)).toMatchObject({ ok: true })
      expect(make({ secret: SECRETS[0], toleranceSeconds: 3599 }).verify(late)).toMatchObject({ ok: false })
      expect(make({ secret: SECRETS[0], toleranceSeconds: 'off' }).verify(late)).toMatchObject({ ok: true })
    })

    it('reports "too old" only for a genuine signature', () => {
      const late = deliver(signed, body, NOW_MS + 3_600_000)
      expect(make({ secret: SECRETS[1] }).verify(late)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    })
  },
)

describe.each(cases.filter(({ dated }) => !dated))('$name, which signs no date,', ({ make }) => {
  it('rejects a toleranceSeconds other than off', () => {
    expect(() => make({ secret: SECRETS[0], toleranceSeconds: 300 })).toThrow(/CONFIG_INVALID.*signs no date/)
    expect(() => make({ secret: SECRETS[0], toleranceSeconds: 'off' })).not.toThrow()
  })
})

describe('required data of each provider', () => {
  it.each([
    ['github', github, 'x-github-delivery'],
    ['shopify', shopify, 'x-shopify-webhook-id'],
  ] as const)('%s without its id has no key', (_name, make, header) => {
    const source = make({ secret: SECRETS[0] })
    const signed = source.sign({ body: '{}' })
    expect(source.identify(deliver(signed, '{}'))).toMatchObject({
      ok: true,
      key: signed[header],
      type: 'unknown',
    })
    expect(source.identify(deliver(without(signed, header), '{}'))).toMatchObject({
      unread: { code: 'EVENT_KEY_MISSING' },
    })
  })

  it.each(['webhook-id', 'webhook-timestamp'])(
    'standard-webhooks without the signed header %s is refused',
    (name) => {
      const source = standardWebhooks({ secret: SECRETS[0] })
      const signed = source.sign({ body: '{}', timestampMs: NOW_MS })
      expect(source.verify(deliver(without(signed, name), '{}'))).toMatchObject({ code: 'SIGNATURE_MISSING' })
    },
  )

  it('lemonsqueezy: name, resource and date make the key; without one of them there is no key', () => {
    const source = lemonsqueezy({ secret: SECRETS[0] })
    const keyOf = (name: string, data: object) => {
      const result = source.identify(deliver({}, JSON.stringify({ meta: { event_name: name }, data })))
      return result.ok ? result.key : result.code
    }
    const later = { ...lemonOrder, attributes: { updated_at: '2023-11-14T22:13:21.000000Z' } }
    const keys = [
      keyOf('order_created', lemonOrder),
      keyOf('order_refunded', lemonOrder),
      keyOf('order_created', { ...lemonOrder, id: '2' }),
      keyOf('order_created', { ...lemonOrder, type: 'subscriptions' }),
      keyOf('order_created', later),
    ]
    expect(new Set(keys).size).toBe(5)
    expect(keyOf('order_created', lemonOrder)).toBe(keys[0])
    expect(keys).not.toContain(keyOf('order_created', { ...lemonOrder, attributes: {} }))
  })
})

describe('docs/reference/sources.md', () => {
  it('states the same facts as the catalogue', async () => {
    const docs = await readFile(new URL('../../../docs/reference/sources.md', import.meta.url), 'utf8')
    for (const [name, make] of Object.entries({ stripe, github, shopify, standardWebhooks, lemonsqueezy })) {
      const { acceptedStatus, refusedStatus, retryWindowMs } = make({ secret: SECRETS[0] })
      expect(docs).toContain(
        `| \`${name}()\` | ${acceptedStatus} | ${refusedStatus} | ${retryWindowMs / DAY_MS} days |`,
      )
    }
  })
})
