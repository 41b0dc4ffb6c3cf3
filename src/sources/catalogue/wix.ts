import { createSign } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { privateKeyOf } from '../schemes/digest.ts'
import { algorithmOf, type Claims, isSignedBy, parsePart, parseToken, splitToken } from '../schemes/jws.ts'
import { ageFault } from '../schemes/jwt.ts'
import { parseJsonText, textOf } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'

/** The body is a token that contains JSON within JSON within JSON. */
const code: MakeScheme = ({ keyring, toleranceSeconds }) => ({
  verify(delivery) {
    if (delivery.body.length === 0) return refuse('SIGNATURE_MISSING', 'the body is empty; expected a token')
    const token = splitToken(textOf(delivery.body))
    if (token === undefined || algorithmOf(token.header, ['RS256']) === undefined)
      return refuse('SIGNATURE_MALFORMED', 'the body is not a JSON Web Token signed with RS256')
    for (const { key, position } of keyring.keys) {
      if (!isSignedBy(key, 'RS256', token.signed, token.signature)) continue
      const claims = parsePart(token.payload)
      if (claims === undefined) return refuse('SIGNATURE_MALFORMED', 'the claims of the token are not JSON')
      return ageFault(claims, delivery, toleranceSeconds) ?? { ok: true, secret: position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured public key(s) made this token`,
    )
  },
  parse: (delivery) => unfolded(parseToken(textOf(delivery.body))?.claims),
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const { data } = (parseJsonText(Buffer.from(sample.body).toString('utf8')) ?? {}) as {
      data?: Record<string, unknown>
    }
    const issuedAt = Math.floor((sample.timestampMs ?? Date.now()) / 1000)
    const event = { ...data, data: JSON.stringify(data?.data ?? {}) }
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { data: JSON.stringify(event), iat: issuedAt }
    const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
    const signature = createSign('sha256').update(signed).sign(privateKeyOf(key), 'base64url')
    return {
      method: 'POST',
      url: sample.url ?? '/',
      headers: { ...sample.headers, 'content-type': 'text/plain' },
      body: Buffer.from(`${signed}.${signature}`),
    }
  },
})

/** The claims, with JSON texts replaced by their parsed values. */
function unfolded(claims: Claims | undefined): WixPayload | undefined {
  const event = inside(claims?.data) as Record<string, unknown> | undefined
  if (claims === undefined || event === undefined) return undefined
  return {
    ...claims,
    data: {
      ...event,
      data: inside(event.data) ?? event.data,
      ...('identity' in event && { identity: inside(event.identity) ?? event.identity }),
    },
  }
}

function inside(value: unknown): object | undefined {
  return typeof value === 'string' ? parseJsonText(value) : undefined
}

export const wix = provider<WixPayload, unknown, string>(
  {
    provider: 'wix',
    about: {
      name: 'Wix',
      category: 'commerce',
      confidence: 'documented',
      evidence: [
        'npm:@wix/sdk@1.21.16 (webhooks.process)',
        'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary: notes that cite the documents of the vendor)',
      ],
      unverified: [
        'where the date of an event is',
        'how long it retries (12 times within hours); hookonce assumes a week',
        'how old the token of a retry is: an expired token is rejected',
      ],
      notes: [
        'The secret is the public key of the app, as its dashboard shows it.',
        'It waits only 1.25 seconds for the answer: keep the database close.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'the body is a JSON Web Token (RS256), signed with the key of the app',
      dated: true,
      secret: 'public-key',
    },
    body: 'coded',
    event: {
      key: 'json:data.data.id',
      type: 'json:data.eventType',
      objectId: 'json:data.data.entityId',
      occurredAt: { at: 'json:data.data.eventTime', unit: 'iso' },
      object: 'json:data.data',
    },
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 1.25,
    acceptedStatus: 200,
  },
  code,
)

export interface WixPayload {
  readonly data: {
    readonly eventType?: unknown
    readonly instanceId?: unknown
    readonly identity?: unknown
    readonly data: unknown
  }
}
