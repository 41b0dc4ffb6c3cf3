import { createHmac, timingSafeEqual } from 'node:crypto'
import { escape as escapeQuery } from 'node:querystring'
import { HookonceError } from '../../model/errors.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import type { Endpoint } from '../schemes/endpoint.ts'
import type { SigningKey } from '../schemes/key.ts'
import { listedHeader, neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { checkAge, parseTimestamp } from '../schemes/timestamp.ts'

const SIGNATURE = 'x-contentful-signature'
const SIGNED_HEADERS = 'x-contentful-signed-headers'
const TIMESTAMP = 'x-contentful-timestamp'

/**
 * The signature covers the request: method, path, the headers listed in one header, and the body.
 */
const code: MakeScheme = ({ keyring, endpoint, toleranceSeconds }) => ({
  verify(delivery) {
    const headers = neededHeaders(delivery, [SIGNATURE, SIGNED_HEADERS, TIMESTAMP])
    if ('ok' in headers) return headers
    const signedAtMs = parseTimestamp(headers[TIMESTAMP], 'ms')
    if (!/^[0-9a-f]{64}$/.test(headers[SIGNATURE]) || signedAtMs === undefined)
      return refuse(
        'SIGNATURE_MALFORMED',
        'the signature or its date does not have the form that Contentful sends',
      )
    const signature = Buffer.from(headers[SIGNATURE], 'hex')
    const head = signedHead(delivery, headers[SIGNED_HEADERS].split(','), endpoint)
    if (typeof head !== 'string') return head
    for (const key of keyring.keys) {
      if (!timingSafeEqual(mac(key, head, delivery.body), signature)) continue
      return (
        checkAge(signedAtMs, delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: key.position }
      )
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured secret(s) made this signature`,
    )
  },
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    for (const [name, value] of Object.entries(sample.headers ?? {})) headers[name.toLowerCase()] = value
    if (sample.id !== undefined) headers['x-contentful-idempotency-key'] = sample.id
    headers[TIMESTAMP] = String(sample.timestampMs ?? Date.now())
    const names = [...Object.keys(headers), SIGNED_HEADERS].sort()
    headers[SIGNED_HEADERS] = names.join(',')
    const body = Buffer.from(sample.body)
    const url = sample.url ?? '/'
    const draft: Delivery = { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: 0 }
    const head = signedHead(draft, names, endpoint)
    if (typeof head !== 'string') throw new HookonceError(head.code, head.detail)
    headers[SIGNATURE] = mac(key, head, body).toString('hex')
    return { method: 'POST', url, headers, body }
  },
})

function mac({ key }: SigningKey, head: string, body: Uint8Array): Buffer {
  return createHmac('sha256', key).update(head).update(body).digest()
}

/** The signed text before the body. */
function signedHead(delivery: Delivery, listed: readonly string[], endpoint: Endpoint): string | Refusal {
  // A date that is not signed proves nothing.
  if (![SIGNED_HEADERS, TIMESTAMP].every((name) => listed.includes(name)))
    return refuse('SIGNATURE_MALFORMED', `${SIGNED_HEADERS} does not list itself and the date`)
  const lines: string[] = []
  for (const name of [...new Set(listed)].sort()) {
    const value = listedHeader(delivery, name)
    if (value === undefined) return refuse('SIGNATURE_MISSING', 'a signed header is missing')
    lines.push(`${name}:${value.trim()}`)
  }
  return `${delivery.method}\n${signedPath(endpoint.urlOf(delivery))}\n${lines.join(';')}\n`
}

/**
 * The registered path. The query is escaped as a whole, so escaped characters are escaped twice.
 */
function signedPath(url: string): string {
  const { pathname, search } = new URL(url)
  return encodeURI(search === '' ? pathname : `${pathname}?${escapeQuery(search.slice(1))}`)
}

export const contentful = provider(
  {
    provider: 'contentful',
    about: {
      name: 'Contentful',
      category: 'cms',
      confidence: 'verified',
      evidence: ['npm:@contentful/node-apps-toolkit@3.16.1:lib/requests/index.mjs'],
      unverified: [
        'the header X-Contentful-Topic as the type',
        'the header X-Contentful-Idempotency-Key as the key; without it the key is made of id, revision and topic',
        'the three retries; hookonce assumes a week',
      ],
      notes: ['The tolerance of its own library is 30 seconds.'],
    },
    signature: {
      algorithm: 'coded',
      how: 'HMAC-SHA256 in hex at `x-contentful-signature` over method, path, the headers listed in `x-contentful-signed-headers`, and the body',
      dated: true,
      toleranceSeconds: 30,
      needsUrl: true,
    },
    event: {
      key: [
        'header:x-contentful-idempotency-key',
        {
          hash: ['json:sys.id', ['json:sys.revision', 'json:sys.version'], 'header:x-contentful-topic'],
          optional: ['json:sys.updatedAt'],
        },
      ],
      type: 'header:x-contentful-topic',
      objectId: 'json:sys.id',
      occurredAt: { at: 'json:sys.updatedAt', unit: 'iso' },
      version: { at: ['json:sys.revision', 'json:sys.version'], unit: 'number' },
    },
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 30,
  },
  code,
)
