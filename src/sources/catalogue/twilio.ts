import { createHmac, timingSafeEqual } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { hash } from '../../model/hash.ts'
import type { Delivery } from '../contract.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { urlencodedFields } from '../schemes/form.ts'
import type { SigningKey } from '../schemes/key.ts'
import { refuse } from '../schemes/refuse.ts'
import { isSameText } from '../schemes/token.ts'

const HEADER = 'x-twilio-signature'

/**
 * The signed content is the URL, then every form field in the order of their names. For a body that
 * is not a form, the URL's query contains its signed hash. The port that Twilio used is unknown, so
 * the URL is tried with and without one.
 */
const code: MakeScheme = ({ keyring, endpoint }) => ({
  verify(delivery) {
    const header = delivery.header(HEADER)
    if (!header) return refuse('SIGNATURE_MISSING', `the header ${HEADER} is missing`)
    if (!/^[A-Za-z0-9+/]{27}=$/.test(header))
      return refuse('SIGNATURE_MALFORMED', `the header ${HEADER} contains no hmac-sha1 signature`)
    const signature = Buffer.from(header, 'base64')
    const url = endpoint.urlOf(delivery)
    const fields = signedFields(delivery, url)
    if (fields === undefined)
      return refuse('SIGNATURE_MISMATCH', 'the body is not a form and does not match bodySHA256')
    for (const key of keyring.keys) {
      if (spellings(url).some((spelling) => timingSafeEqual(mac(key, spelling + fields), signature)))
        return { ok: true, secret: key.position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured secret(s) made this signature`,
    )
  },
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const body = Buffer.from(sample.body)
    const isJson = /^\s*[[{]/.test(body.toString())
    const headers: Record<string, string> = {
      'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
    }
    for (const [name, value] of Object.entries(sample.headers ?? {})) headers[name.toLowerCase()] = value
    if (sample.id !== undefined) headers['i-twilio-idempotency-token'] = sample.id
    const isForm = isFormType(headers['content-type'])
    const target = sample.url ?? '/'
    const mark = target.includes('?') ? '&' : '?'
    const url = isForm ? target : `${target}${mark}bodySHA256=${hash('sha256', body)}`
    const draft: Delivery = { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: 0 }
    const signed = endpoint.urlOf(draft)
    headers[HEADER] = mac(key, signed + (signedFields(draft, signed) ?? '')).toString('base64')
    return { method: 'POST', url, headers, body }
  },
})

function mac({ key }: SigningKey, text: string): Buffer {
  return createHmac('sha1', key).update(text).digest()
}

/** The signed text after the URL. Undefined if no signature covers this body. */
function signedFields(delivery: Delivery, url: string): string | undefined {
  const query = url.indexOf('?')
  const bodyHash = query < 0 ? null : new URLSearchParams(url.slice(query)).get('bodySHA256')
  if (bodyHash !== null)
    return isSameText(bodyHash.toLowerCase(), hash('sha256', delivery.body)) ? '' : undefined
  if (delivery.body.length === 0) return ''
  return isFormType(delivery.header('content-type')) ? sortedFields(delivery.body) : undefined
}

function isFormType(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('application/x-www-form-urlencoded') === true
}

function sortedFields(body: Uint8Array): string | undefined {
  const sent = urlencodedFields(Buffer.from(body).toString('utf8'))
  if (sent === undefined) return undefined
  const fields = new Map<string, Set<string>>()
  for (const [name, value] of sent) {
    const values = fields.get(name)
    if (values) values.add(value)
    else fields.set(name, new Set([value]))
  }
  return [...fields.keys()]
    .sort()
    .map((name) =>
      [...(fields.get(name) ?? [])]
        .sort()
        .map((value) => name + value)
        .join(''),
    )
    .join('')
}

function spellings(url: string): string[] {
  const parts = /^(https?):\/\/([^/?#:]+)(:\d+)?(.*)$/s.exec(url)
  if (parts === null) return [url]
  const [, scheme, host, , rest] = parts
  const port = scheme === 'https' ? 443 : 80
  return [...new Set([url, `${scheme}://${host}${rest}`, `${scheme}://${host}:${port}${rest}`])]
}

const SID = ['item:MessageSid', 'item:CallSid', 'item:SmsSid', 'item:RecordingSid'] as const
const STATUS = ['item:MessageStatus', 'item:CallStatus', 'item:SmsStatus', 'item:RecordingStatus'] as const

export const twilio = provider<TwilioParameters, TwilioParameters, string>(
  {
    provider: 'twilio',
    about: {
      name: 'Twilio',
      category: 'communication',
      confidence: 'verified',
      evidence: [
        'npm:twilio@6.2.0:lib/webhooks/webhooks.js',
        'github.com/twilio/twilio-node:spec/validation.spec.js',
        'https://www.twilio.com/docs/events/event-delivery-and-duplication.md',
      ],
      unverified: [
        'that I-Twilio-Idempotency-Token is always sent',
        'the retry window; hookonce assumes a week',
      ],
      notes: [
        'The secret is the auth token of the account.',
        'For status callbacks, Event Streams and Verify Push. Calls or messages that expect TwiML in the reply are not supported.',
        'Event Streams are batches of CloudEvents in JSON. Everything else is one event, in a form or in JSON.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'HMAC-SHA1 in base64 over the registered URL and the form fields sorted by name; a body that is not a form is covered by `bodySHA256` in the URL',
      needsUrl: true,
    },
    body: { jsonOr: 'form' },
    // Event Streams.
    batch: 'json:[]',
    event: {
      key: [
        // CloudEvents first: the token in the header is shared by a whole batch.
        { hash: ['item:specversion', 'item:source', 'item:id'] },
        'item:uid',
        'header:i-twilio-idempotency-token',
        {
          hash: [[...SID], [...STATUS, 'const:inbound']],
          optional: ['item:SequenceNumber', 'item:EventType', 'item:Digits', 'item:SpeechResult'],
        },
      ],
      type: ['item:type', ...STATUS, 'const:inbound'],
      objectId: [...SID, 'item:challenge_sid', 'item:factor_sid'],
      occurredAt: { at: ['item:time', 'item:Timestamp'], unit: 'iso' },
    },
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 15,
  },
  code,
)

/** The form fields. */
export type TwilioParameters = Readonly<Record<string, string>>
