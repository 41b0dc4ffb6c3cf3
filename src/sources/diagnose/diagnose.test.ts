import { expect, test } from 'vitest'
import { arriving } from '../../../test/support/catalogue.ts'
import { twilio } from '../catalogue/twilio.ts'
import type { Delivery, NamedSource, Source } from '../contract.ts'
import { custom, github, shopify, square, standardWebhooks, stripe } from '../index.ts'
import type { Sample, SigningSource } from '../sign.ts'
import { diagnose } from './diagnose.ts'

const NOW_MS = 1_700_000_000_000
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=='
const BODY = '{\n  "id": "evt_1",\n  "type": "invoice.paid",\n  "livemode": false,\n  "name": "Zoë"\n}'

function delivered(
  sender: SigningSource,
  sample: Partial<Sample> = {},
  changed: Partial<Delivery> = {},
): Delivery {
  return arriving(sender.deliver({ body: BODY, timestampMs: NOW_MS, ...sample }), NOW_MS, changed)
}

/** The diagnosis for a delivery, which must be rejected. */
async function told(source: Source, delivery: Delivery, others: NamedSource[] = []): Promise<string> {
  const refusal = source.verify(delivery)
  if (refusal.ok) throw new Error('it was not refused')
  return String(await diagnose({ source, others, delivery, refusal }))
}

const receiving = stripe({ secret: SECRET })
const compact = Buffer.from(JSON.stringify(JSON.parse(BODY)))

test.each<[what: string, source: Source, delivery: Delivery, diagnosis: RegExp]>([
  [
    'another provider',
    receiving,
    delivered(github({ secret: SECRET })),
    /stripe-signature is missing, but x-hub-signature-256.* are present: it looks like github;/,
  ],
  [
    'an older header',
    github({ secret: SECRET }),
    {
      ...delivered(github({ secret: SECRET })),
      header: (name) => (name === 'x-hub-signature' ? 'sha1=aa' : undefined),
    },
    /x-hub-signature is present, but x-hub-signature-256 is missing/,
  ],
  [
    'a body written again',
    receiving,
    delivered(receiving, {}, { body: compact }),
    /parsed and serialised again .* indented by two spaces\);/,
  ],
  [
    'a body written again as Python does',
    receiving,
    delivered(
      receiving,
      { body: '{"id": "evt_1", "name": "Zo\\u00eb"}' },
      { body: Buffer.from('{"id":"evt_1","name":"Zoë"}') },
    ),
    /a space after each comma and colon, and \\u/,
  ],
  [
    'a body written again as PHP does',
    receiving,
    delivered(receiving, { body: '{"url":"https:\\/\\/x"}' }, { body: Buffer.from('{"url":"https://x"}') }),
    /\\\/ for each slash/,
  ],
  [
    'a body that was read before',
    receiving,
    delivered(receiving, { headers: { 'content-length': '90' } }, { body: Buffer.alloc(0) }),
    /the body was already read/,
  ],
  [
    'a body turned into text',
    receiving,
    delivered(receiving, {}, { body: Buffer.from('[object Object]') }),
    /\[object Object\]/,
  ],
  [
    'a line break added',
    receiving,
    delivered(receiving, {}, { body: Buffer.from(`${BODY}\n`) }),
    /a line break was added/,
  ],
  [
    'a line break cut off',
    receiving,
    delivered(receiving, { body: `${BODY}\n` }, { body: Buffer.from(BODY) }),
    /the line break at the end of the body \(LF\) was removed/,
  ],
  [
    'line breaks changed',
    receiving,
    delivered(receiving, {}, { body: Buffer.from(BODY.replaceAll('\n', '\r\n')) }),
    /from LF to CR LF/,
  ],
  [
    'another charset',
    receiving,
    delivered(receiving, { body: Buffer.from(BODY, 'utf8') }, { body: Buffer.from(BODY, 'latin1') }),
    /converted from UTF-8 to ISO 8859-1/,
  ],
  [
    'one charset taken for another',
    receiving,
    delivered(
      receiving,
      { body: Buffer.from(BODY, 'utf8') },
      { body: Buffer.from(Buffer.from(BODY, 'utf8').toString('latin1'), 'utf8') },
    ),
    /decoded as ISO 8859-1/,
  ],
  [
    'a byte order mark',
    receiving,
    delivered(receiving, {}, { body: Buffer.from(`\ufeff${BODY}`) }),
    /byte order mark/,
  ],
  [
    'a secret that is decoded',
    stripe({ secret: SECRET.slice('whsec_'.length) }),
    delivered(signing({ secretEncoding: 'base64' })),
    /the sender uses it decoded from base64, this source uses it as text/,
  ],
  [
    'a secret that is not decoded',
    signing({ secretEncoding: 'base64', secretPrefix: 'whsec_' }),
    delivered(receiving),
    /the sender uses it as text, this source uses it decoded from base64, without its prefix whsec_/,
  ],
  ['a secret in quotes', stripe({ secret: `"${SECRET}"` }), delivered(receiving), /quotes around it/],
  [
    'a clock that is slow',
    receiving,
    delivered(receiving, {}, { receivedAtMs: NOW_MS - 400_000 }),
    /the signature is right; signed 400 s after it arrived.*slow/,
  ],
  [
    'a clock that is fast',
    receiving,
    delivered(receiving, {}, { receivedAtMs: NOW_MS + 400_000 }),
    /the signature is right; signed 400 s before it arrived/,
  ],
  [
    'an old algorithm',
    github({ secret: SECRET }),
    delivered(hub('hmac-sha1', 'hex', 'sha1=')),
    /hmac-sha1, not hmac-sha256; the signature is under "sha1="/,
  ],
  [
    'another encoding',
    shopify({ secret: SECRET }),
    delivered(
      custom({
        secret: SECRET,
        signature: { algorithm: 'hmac-sha256', header: 'x-shopify-hmac-sha256', encoding: 'hex' },
        event: { key: 'body-hash' },
      }),
    ),
    /the encoding is hex, not base64/,
  ],
  [
    'another field of the list',
    receiving,
    delivered(signing({}, 'v0')),
    /the signature is under "v0", not "v1"/,
  ],
  [
    'other content',
    receiving,
    delivered(signing({ content: '{timestamp}{body}' })),
    /the signed content is \{timestamp\}\{body\}, but this source expects \{timestamp\}\.\{body\}/,
  ],
  [
    'another URL',
    square({ secret: SECRET, url: 'http://internal:8080/in/square' }),
    delivered(square({ secret: SECRET, url: 'https://shop.example/in/square' }), {
      url: '/in/square',
      headers: { host: 'shop.example' },
    }),
    /signed the URL https:\/\/shop\.example\/in\/square, but the option `url` gives http:\/\/internal:8080/,
  ],
  [
    'another URL of a coded provider',
    twilio({ secret: SECRET, url: 'https://shop.example/in/twilio/' }),
    delivered(twilio({ secret: SECRET, url: 'https://shop.example/in/twilio' }), {
      body: 'CallSid=1&CallStatus=done',
    }),
    /signed the URL https:\/\/shop\.example\/in\/twilio,/,
  ],
  [
    'another secret',
    stripe({ secret: 'another' }),
    delivered(receiving),
    /none of the \d+ tried alternatives .* test mode; check whether the secret is that of the live mode/,
  ],
])('%s is reported', async (_what, source, delivery, says) => {
  expect(await told(source, delivery)).toMatch(says)
})

test('the secret of another source is recognised, of the same and of another provider', async () => {
  const others = [
    { name: 'stripe-test', source: receiving },
    { name: 'github', source: github({ secret: SECRET }) },
  ]
  const live = stripe({ secret: 'live' })
  expect(await told(live, delivered(receiving), others)).toMatch(
    /secret of the source "stripe-test": .*test, live/,
  )
  // Also for a late delivery: its date is irrelevant here.
  expect(await told(live, delivered(receiving, {}, { receivedAtMs: NOW_MS + 1e9 }), others)).toContain(
    'stripe-test',
  )
  expect(await told(live, delivered(github({ secret: SECRET })), others)).toMatch(
    /delivery of the source "github"/,
  )
})

test('the diagnosis contains neither the secret nor any part of the body', async () => {
  for (const source of [stripe({ secret: 'hidden-secret' }), standardWebhooks({ secret: 'aGlkZGVu' })]) {
    const text = await told(source, delivered(receiving))
    expect(text).not.toMatch(/hidden|aGlkZGVu|evt_1|Zo/)
  }
})

/** Stripe's scheme with one difference. */
function signing(changed: object, signatureField = 'v1'): SigningSource {
  return custom({
    secret: SECRET.slice('secretEncoding' in changed && !('secretPrefix' in changed) ? 'whsec_'.length : 0),
    signature: {
      algorithm: 'hmac-sha256',
      header: 'stripe-signature',
      encoding: 'hex',
      format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField },
      content: '{timestamp}.{body}',
      ...changed,
    },
    timestamp: { at: 'field:t', unit: 's' },
    event: { key: 'json:id' },
  })
}

function hub(algorithm: 'hmac-sha1', encoding: 'hex', prefix: string): SigningSource {
  return custom({
    secret: SECRET,
    signature: { algorithm, encoding, header: 'x-hub-signature-256', format: { kind: 'bare', prefix } },
    event: { key: 'json:id' },
  })
}
