import { createHmac, timingSafeEqual } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import type { SigningKey } from '../schemes/key.ts'
import { parseJsonText } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'

const START = Buffer.from('{"Content":')
const MIDDLE = Buffer.from(',"HashCode":"')
const HEX_CHARS = 64
const END = /^[0-9A-F]{64}"\}$/

/**
 * The body is `{"Content":…,"HashCode":"…"}`. The content is signed as written, so that all bytes
 * but the constant ones are covered.
 */
const code: MakeScheme = ({ keyring }) => ({
  verify({ body }) {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const end = bytes.length - HEX_CHARS - '"}'.length
    const middle = end - MIDDLE.length
    if (
      middle <= START.length ||
      !bytes.subarray(0, START.length).equals(START) ||
      !bytes.subarray(middle, end).equals(MIDDLE)
    )
      return bytes.includes('"HashCode"')
        ? refuse(
            'SIGNATURE_MISMATCH',
            'the body is not written as {"Content":…,"HashCode":"…"}: it was changed',
          )
        : refuse('SIGNATURE_MISSING', 'the body contains no HashCode')
    const proof = bytes.toString('latin1', end)
    if (!END.test(proof)) return refuse('SIGNATURE_MALFORMED', 'HashCode is not a SHA-256 in capital letters')
    const content = bytes.subarray(START.length, middle)
    const signature = Buffer.from(proof.slice(0, HEX_CHARS), 'hex')
    for (const key of keyring.keys)
      if (timingSafeEqual(mac(key, content), signature)) return { ok: true, secret: key.position }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured secret(s) made this signature`,
    )
  },
  // An empty request checks the URL after a subscription is created.
  handshake: ({ method, body }) =>
    method === 'POST' && body.length === 0 ? { ok: true, status: 200, headers: {}, body: '' } : undefined,
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const { Content } = (parseJsonText(Buffer.from(sample.body).toString('utf8')) ?? {}) as {
      Content?: unknown
    }
    const content = Buffer.from(JSON.stringify(Content ?? {}))
    const proof = mac(key, content).toString('hex').toUpperCase()
    return {
      method: 'POST',
      url: sample.url ?? '/',
      headers: { 'content-type': 'application/json', ...sample.headers },
      body: Buffer.concat([START, content, MIDDLE, Buffer.from(`${proof}"}`)]),
    }
  },
})

function mac({ key }: SigningKey, content: Uint8Array): Buffer {
  return createHmac('sha256', key).update(content).digest()
}

export const exactOnline = provider(
  {
    provider: 'exact-online',
    about: {
      name: 'Exact Online',
      category: 'accounting',
      confidence: 'documented',
      evidence: [
        'https://support.exactonline.com/community/s/article/All-All-DNO-Content-webhookstut (cited by a secondary source)',
        'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary; the signature was recomputed on a delivery)',
      ],
      unverified: ['that a retry repeats `EventCreatedOn`', 'the retries; hookonce assumes a week'],
      notes: [
        'The secret is the webhook secret of the app, not its client secret.',
        'A delivery names only topic, action and record. Fetch the record from the API.',
        'There is no id; the key is made of topic, action, record, division and date. Without the date, each delivery of an update is an event, including retries.',
        'After a subscription is created, Exact Online sends an empty request. hookonce answers it.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'HMAC-SHA256 in hex, in capital letters, in the field `HashCode` of the body, over the field `Content` as written',
    },
    event: {
      key: [
        {
          hash: [
            'json:Content.Topic',
            'json:Content.Action',
            'json:Content.Key',
            'json:Content.Division',
            'json:Content.EventCreatedOn',
          ],
        },
        {
          when: { 'json:Content.Action': ['Create', 'Delete'] },
          key: {
            hash: ['json:Content.Topic', 'json:Content.Action', 'json:Content.Key', 'json:Content.Division'],
          },
        },
        'each-delivery',
      ],
      type: { join: ['json:Content.Topic', 'json:Content.Action'], separator: '.' },
      objectId: 'json:Content.Key',
      occurredAt: { at: 'json:Content.EventCreatedOn', unit: 'iso' },
      object: 'json:Content',
    },
    acceptedStatus: 200,
  },
  code,
)
