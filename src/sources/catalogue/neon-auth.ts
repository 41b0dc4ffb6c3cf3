import type { Delivery, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { algorithmOf, decodePart, isSignedBy, parsePart } from '../schemes/jws.ts'
import { keySet, keySetUrl } from '../schemes/key-set.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { checkAge, parseTimestamp } from '../schemes/timestamp.ts'

const HEADERS = ['x-neon-signature', 'x-neon-signature-kid', 'x-neon-timestamp'] as const

interface SignedParts {
  readonly id: string
  readonly signed: string
  readonly signature: Buffer
  readonly signedAtMs: number
}

/**
 * A detached JSON Web Signature: it leaves out its payload, which is date and body, encoded twice.
 */
export function neonAuthCode(fetcher: FetchText): MakeScheme {
  return ({ endpoint, toleranceSeconds }) => {
    const published = keySet(keySetUrl('neon-auth', 'authUrl', endpoint.setting('authUrl')), fetcher)

    function read(delivery: Delivery): SignedParts | Refusal {
      const headers = neededHeaders(delivery, HEADERS)
      if ('ok' in headers) return headers
      const [, head = '', proof = ''] = /^([\w-]+)\.\.([\w-]+)$/.exec(headers['x-neon-signature']) ?? []
      const signature = decodePart(proof)
      const time = headers['x-neon-timestamp']
      const signedAtMs = parseTimestamp(time, 'ms')
      if (
        !algorithmOf(parsePart(head) ?? {}, ['EdDSA']) ||
        signature === undefined ||
        signedAtMs === undefined
      )
        return refuse(
          'SIGNATURE_MALFORMED',
          'the signature or its date does not have the form that Neon sends',
        )
      const payload = `${time}.${Buffer.from(delivery.body).toString('base64url')}`
      return {
        id: headers['x-neon-signature-kid'],
        signed: `${head}.${Buffer.from(payload).toString('base64url')}`,
        signature,
        signedAtMs,
      }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        if (published.keys.length === 0) return refuse('KEYS_UNAVAILABLE', 'the keys have not been fetched')
        const { id, signed, signature, signedAtMs } = proof
        const meant = published.keys.find((key) => key.id === id)
        if (meant === undefined || !isSignedBy(meant.key, 'EdDSA', signed, signature))
          return refuse('SIGNATURE_MISMATCH', 'none of the keys that Neon publishes made this signature')
        return checkAge(signedAtMs, delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: 1 }
      },
      prepare(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return undefined
        return published.need((keys) => keys.some(({ id }) => id === proof.id), delivery.receivedAtMs)
      },
    }
  }
}

export const neonAuth = keyless(
  {
    provider: 'neon-auth',
    about: {
      name: 'Neon Auth',
      category: 'auth',
      confidence: 'documented',
      evidence: [
        'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary: notes that cite the documents of the vendor)',
      ],
      unverified: ['that user.id identifies the object', 'the three attempts; hookonce assumes a week'],
      notes: [
        'For notification events only. Events that block a sign-in until they are answered (send.otp, send.magic_link, user.before_create) expect a reply that hookonce does not send.',
        'Event id and type are in headers, which are not signed.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'a detached JSON Web Signature (EdDSA) at `X-Neon-Signature` over date and body, each encoded in base64url; with a key that your Neon Auth publishes',
      dated: true,
      secret: 'none',
    },
    settings: { authUrl: 'the https URL of your Neon Auth, from which its keys are fetched' },
    event: {
      key: 'header:x-neon-event-id',
      type: 'header:x-neon-event-type',
      objectId: 'json:user.id',
      occurredAt: { at: 'header:x-neon-timestamp', unit: 'ms' },
    },
    retryWindowHours: 7 * 24,
  },
  neonAuthCode(fetchText),
)
