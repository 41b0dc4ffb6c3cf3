import { createHmac } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { hash } from '../../model/hash.ts'
import type { Delivery, HandshakeAnswer } from '../contract.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { formFields } from '../schemes/form.ts'
import type { SigningKey } from '../schemes/key.ts'
import { parseJsonText } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { isSameText } from '../schemes/token.ts'
import { parseXmlText, withoutAttributes, writeXml, type XmlElement, type XmlValue } from '../schemes/xml.ts'

/** A form with base64-encoded XML and one signature per key pair. */
const code: MakeScheme = ({ keyring, endpoint }) => {
  const publicKey = endpoint.setting('publicKey')

  return {
    verify(delivery) {
      const { bt_signature: pairs, bt_payload: payload } = formFields(delivery) ?? {}
      if (!pairs || !payload)
        return refuse('SIGNATURE_MISSING', 'the body is not a form with bt_signature and bt_payload')
      if (!/^[A-Za-z0-9+/=\n]+$/.test(payload))
        return refuse('SIGNATURE_MALFORMED', 'bt_payload is not base64')
      const signature = signatureOf(pairs, publicKey)
      if (signature === undefined)
        return refuse('SIGNATURE_MISMATCH', 'no signature belongs to the key pair of settings.publicKey')
      for (const key of keyring.keys) {
        // A trailing line break of the payload may have been trimmed on the way.
        const expected = [mac(key, payload), mac(key, `${payload}\n`)]
        if (expected.some((one) => isSameText(one, signature))) return { ok: true, secret: key.position }
      }
      return refuse(
        'SIGNATURE_MISMATCH',
        `none of the ${keyring.keys.length} configured secret(s) made this signature`,
      )
    },
    parse: (delivery) => payloadOf(delivery),
    handshake({ method, url }): HandshakeAnswer | ReturnType<typeof refuse> | undefined {
      const challenge = new URLSearchParams(url.split('?')[1] ?? '').get('bt_challenge')
      const [key] = keyring.keys
      if (method !== 'GET' || challenge === null || key === undefined) return undefined
      // Hexadecimal only, as in the SDK. No payload is hexadecimal, so an answer never signs a
      // payload.
      if (!/^[a-f0-9]{20,32}$/.test(challenge))
        return refuse('HANDSHAKE_REFUSED', 'bt_challenge is not 20 to 32 hexadecimal digits')
      const body = `${publicKey}|${mac(key, challenge)}`
      return { ok: true, status: 200, headers: { 'content-type': 'text/plain' }, body }
    },
    sign(sample) {
      const [key] = keyring.keys
      if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
      const text = Buffer.from(sample.body).toString('utf8')
      const sampled = parseJsonText(text) as { notification?: unknown } | undefined
      const xml = sampled === undefined ? text : writeXml({ notification: sampled.notification ?? {} })
      const payload = Buffer.from(xml).toString('base64')
      const form = { bt_signature: `${publicKey}|${mac(key, payload)}`, bt_payload: payload }
      return {
        method: 'POST',
        url: sample.url ?? '/',
        headers: { ...sample.headers, 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(new URLSearchParams(form).toString()),
      }
    },
  }
}

function mac({ key }: SigningKey, text: string): string {
  return createHmac('sha1', hash('sha1', key.export(), 'buffer'))
    .update(text)
    .digest('hex')
}

/** `key1|signature1&key2|signature2`: selects the signature of our key. */
function signatureOf(pairs: string, publicKey: string): string | undefined {
  const pair = pairs.split('&').find((one) => one.startsWith(`${publicKey}|`))
  return pair?.slice(publicKey.length + 1)
}

/** The form fields, for users of Braintree's SDK, and the decoded notification. */
function payloadOf(delivery: Delivery): BraintreePayload | undefined {
  const { bt_signature = '', bt_payload: sent = '' } = formFields(delivery) ?? {}
  // With and without its last line break it is the same event. The SDK also treats both as equal.
  const bt_payload = sent.replace(/\n$/, '')
  const document = parseXmlText(Buffer.from(bt_payload, 'base64').toString('utf8'))
  const { notification } = Object(document && withoutAttributes(document)) as { notification?: XmlValue }
  if (typeof notification !== 'object' || notification === null || Array.isArray(notification))
    return undefined
  return { bt_signature, bt_payload, notification: notification as XmlElement }
}

const SUBJECTS = [
  'subscription',
  'transaction',
  'dispute',
  'disbursement',
  'merchant-account',
  'local-payment',
] as const

export const braintree = provider<BraintreePayload, XmlElement, string>(
  {
    provider: 'braintree',
    about: {
      name: 'Braintree',
      category: 'payments',
      confidence: 'verified',
      evidence: [
        'npm:braintree@3.40.0:lib/braintree/webhook_notification_gateway.js',
        'npm:braintree@3.40.0:lib/braintree/digest.js',
        'github.com/braintree/braintree_node:test/unit/braintree/webhook_notification_gateway_spec.js',
      ],
      unverified: ['the retries: 24 hours (3 in the sandbox); hookonce assumes a week'],
      notes: [
        'The secret is the private key of the API, `settings.publicKey` its public key.',
        'Braintree sends no event id; the key is the hash of the notification, which contains its date to the second.',
        'event.payload has bt_signature, bt_payload (without a trailing line break) and the notification parsed from its XML. Numeric ids are strings there.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'HMAC-SHA1 in hex over the form field `bt_payload`, keyed with the SHA-1 of the private key; in `bt_signature`, after the public key',
    },
    settings: { publicKey: 'the public key of the API, which selects our signature' },
    body: 'coded',
    event: {
      key: { hash: ['json:bt_payload'] },
      type: 'json:notification.kind',
      objectId: SUBJECTS.map((name) => `json:notification.subject.${name}.id` as const),
      occurredAt: { at: 'json:notification.timestamp', unit: 'iso' },
      object: 'json:notification.subject',
    },
    handshake: [{ method: 'GET', when: { 'query:bt_challenge': true }, signed: false }],
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 30,
  },
  code,
)

export interface BraintreePayload {
  readonly bt_signature: string
  readonly bt_payload: string
  readonly notification: XmlElement
}
