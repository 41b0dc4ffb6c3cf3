import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { algorithmOf, isSignedBy, type JwsAlgorithm, parseToken, type Token } from '../schemes/jws.ts'
import { keySet, keySetUrl, type PublishedKey } from '../schemes/key-set.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { isSameText } from '../schemes/token.ts'

const HEADER = 'x-fusionauth-signature-jwt'
const ALGORITHMS: readonly JwsAlgorithm[] = ['EdDSA', 'ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512']

/** Each FusionAuth server publishes its own keys. The token contains the hash of the body. */
export function fusionauthCode(fetcher: FetchText): MakeScheme {
  return ({ endpoint }) => {
    const published = keySet(keySetUrl('fusionauth', 'url', endpoint.setting('url')), fetcher)

    function read(delivery: Delivery): { token: Token; algorithm: JwsAlgorithm } | Refusal {
      const headers = neededHeaders(delivery, [HEADER])
      if ('ok' in headers) return headers
      const token = parseToken(headers[HEADER])
      const algorithm = token && algorithmOf(token.header, ALGORITHMS)
      return token && algorithm
        ? { token, algorithm }
        : refuse('SIGNATURE_MALFORMED', `the header ${HEADER} contains no token signed with a key pair`)
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const { token, algorithm } = proof
        if (published.keys.length === 0) return refuse('KEYS_UNAVAILABLE', 'the keys have not been fetched')
        const meant = published.keys.filter(isMeantBy(token))
        if (!meant.some(({ key }) => isSignedBy(key, algorithm, token.signed, token.signature)))
          return refuse('SIGNATURE_MISMATCH', 'none of the keys that FusionAuth publishes made this token')
        const { request_body_sha256: bodyHash } = token.claims
        return typeof bodyHash === 'string' && isSameText(bodyHash, hash('sha256', delivery.body, 'base64'))
          ? { ok: true, secret: 1 }
          : refuse('SIGNATURE_MISMATCH', 'the body does not match the claim request_body_sha256')
      },
      prepare(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return undefined
        return published.need((keys) => keys.some(isMeantBy(proof.token)), delivery.receivedAtMs)
      },
    }
  }
}

/** A token without a key id may be signed by any key. */
function isMeantBy({ header }: Token): (key: PublishedKey) => boolean {
  return ({ id }) => header.kid === undefined || header.kid === id
}

export const fusionauth = keyless<FusionAuthEvent, unknown, string>(
  {
    provider: 'fusionauth',
    about: {
      name: 'FusionAuth',
      category: 'auth',
      confidence: 'documented',
      evidence: [
        'github.com/FusionAuth/fusionauth-site:astro/src/content/docs/extend/events-and-webhooks/signing.mdx',
        'github.com/FusionAuth/fusionauth-site:astro/src/content/docs/extend/events-and-webhooks/index.mdx',
      ],
      unverified: [
        'that event.id identifies the event',
        'the retries: none are documented; hookonce assumes a week',
      ],
      notes: [
        'Choose a key pair (EdDSA, ES or RS) as the signing key of the webhook. With an HMAC key use `custom()` with a `jwt` signature instead.',
        'If transactions are enabled in FusionAuth, an unsuccessful answer fails the call that caused the event.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'a JSON Web Token (EdDSA, ES, RS) at `X-FusionAuth-Signature-JWT` with the SHA-256 of the body; signed with a key that your FusionAuth publishes at `/.well-known/jwks.json`',
      secret: 'none',
    },
    settings: { url: 'the https URL of your FusionAuth, from which its keys are fetched' },
    event: {
      key: 'json:event.id',
      type: 'json:event.type',
      objectId: ['json:event.user.id', 'json:event.applicationId'],
      occurredAt: { at: 'json:event.createInstant', unit: 'ms' },
      object: 'json:event',
    },
    retryWindowHours: 7 * 24,
  },
  fusionauthCode(fetchText),
)

export interface FusionAuthEvent {
  readonly event: { readonly id: string; readonly type: string; readonly createInstant: number }
}
