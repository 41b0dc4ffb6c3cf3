import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { isSignedBy } from '../schemes/jws.ts'
import { keySet, type PublishedKey } from '../schemes/key-set.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { checkAge, parseTimestamp } from '../schemes/timestamp.ts'

const KEYS = 'https://rest.alpha.fal.ai/.well-known/jwks.json'

const HEADERS = [
  'x-fal-webhook-request-id',
  'x-fal-webhook-user-id',
  'x-fal-webhook-timestamp',
  'x-fal-webhook-signature',
] as const

interface SignedParts {
  readonly signed: string
  readonly signature: Buffer
  readonly signedAtMs: number
}

/** fal signs with published keys and does not name the key, so each one is tried. */
export function falCode(fetcher: FetchText): MakeScheme {
  return ({ endpoint, toleranceSeconds }) => {
    const published = keySet(KEYS, fetcher)
    const userId = endpoint.setting('userId')

    function read(delivery: Delivery): SignedParts | Refusal {
      const headers = neededHeaders(delivery, HEADERS)
      if ('ok' in headers) return headers
      // Anyone can make fal sign deliveries of their own account.
      if (headers['x-fal-webhook-user-id'] !== userId)
        return refuse('SIGNATURE_MISMATCH', 'the user is not the one in settings.userId')
      const hex = headers['x-fal-webhook-signature']
      const time = headers['x-fal-webhook-timestamp']
      const signedAtMs = parseTimestamp(time, 's')
      if (!/^[0-9a-f]{128}$/.test(hex) || signedAtMs === undefined)
        return refuse(
          'SIGNATURE_MALFORMED',
          'the signature or its date does not have the form that fal sends',
        )
      const id = headers['x-fal-webhook-request-id']
      return {
        signed: `${id}\n${userId}\n${time}\n${hash('sha256', delivery.body)}`,
        signature: Buffer.from(hex, 'hex'),
        signedAtMs,
      }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        if (published.keys.length === 0) return refuse('KEYS_UNAVAILABLE', 'the keys have not been fetched')
        if (!isSignedByOne(published.keys, proof))
          return refuse('SIGNATURE_MISMATCH', 'none of the keys that fal publishes made this signature')
        return checkAge(proof.signedAtMs, delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: 1 }
      },
      prepare(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return undefined
        // If no known key matches, fal may have published a new one.
        return published.need((keys) => isSignedByOne(keys, proof), delivery.receivedAtMs)
      },
    }
  }
}

function isSignedByOne(keys: readonly PublishedKey[], { signed, signature }: SignedParts): boolean {
  return keys.some(({ key }) => isSignedBy(key, 'EdDSA', signed, signature))
}

export const fal = keyless<FalResult, FalResult, string>(
  {
    provider: 'fal',
    about: {
      name: 'fal.ai',
      category: 'ai',
      confidence: 'documented',
      evidence: [
        'https://docs.fal.ai/model-endpoints/webhooks',
        'npm:@hookflo/tern@4.1.0:dist/platforms/algorithms.js (secondary)',
      ],
      unverified: ['the signed text'],
      notes: [
        'fal signs for all customers with the same keys. Only the user id shows that a delivery is yours.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'Ed25519 in hex at `X-Fal-Webhook-Signature` over request id, user id, date and SHA-256 of the body; with the keys that fal publishes',
      dated: true,
      secret: 'none',
    },
    settings: { userId: 'the id of your account, as in `X-Fal-Webhook-User-Id`' },
    event: {
      key: ['json:request_id', 'header:x-fal-webhook-request-id'],
      type: 'json:status',
      objectId: 'json:request_id',
      occurredAt: { at: 'header:x-fal-webhook-timestamp', unit: 's' },
    },
    // fal retries for two hours. A day leaves time to investigate.
    retryWindowHours: 24,
    answerWithinSeconds: 15,
  },
  falCode(fetchText),
)

export interface FalResult {
  readonly request_id: string
  readonly status: string
  readonly payload?: unknown
  readonly error?: string
}
