import { HookonceError } from '../../model/errors.ts'
import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { algorithmOf, isSignedBy, parseToken, type Token } from '../schemes/jws.ts'
import { ageFault } from '../schemes/jwt.ts'
import { publicKeyOf } from '../schemes/key-set.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { parseJsonText } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { remoteKeys } from '../schemes/remote-keys.ts'
import { isSameText } from '../schemes/token.ts'

const HEADER = 'plaid-verification'

const HOSTS: Readonly<Record<string, string>> = {
  production: 'https://production.plaid.com',
  sandbox: 'https://sandbox.plaid.com',
}

/**
 * Plaid signs a token that contains the hash of the body. Its keys are fetched by id, with the API
 * credentials.
 */
export function plaidCode(fetcher: FetchText): MakeScheme {
  return ({ keyring, endpoint, toleranceSeconds }) => {
    const host = HOSTS[endpoint.setting('environment')]
    if (host === undefined)
      throw new HookonceError('CONFIG_INVALID', "plaid: settings.environment: 'production' or 'sandbox'")

    const keys = remoteKeys(async (id) => {
      const answer = await fetcher(`${host}/webhook_verification_key/get`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_id: endpoint.setting('clientId'),
          secret: keyring.keys[0]?.key.export().toString(),
          key_id: id,
        }),
      })
      const { key } = (parseJsonText(answer) ?? {}) as { key?: Record<string, unknown> }
      if (key === undefined) throw new Error('the response contains no key')
      if (key.expired_at !== null && key.expired_at !== undefined) throw new Error('the key has expired')
      return publicKeyOf(key)
    }, endpoint.keyNames)

    function read(delivery: Delivery): { token: Token; id: string } | Refusal {
      const headers = neededHeaders(delivery, [HEADER])
      if ('ok' in headers) return headers
      const token = parseToken(headers[HEADER])
      if (token === undefined || algorithmOf(token.header, ['ES256']) === undefined)
        return refuse('SIGNATURE_MALFORMED', `the header ${HEADER} contains no token signed with ES256`)
      const { kid } = token.header
      // Checked before it is fetched: an unverified sender controls this part of our request.
      if (typeof kid !== 'string' || !/^[\w-]{1,64}$/.test(kid))
        return refuse('SIGNATURE_MALFORMED', 'the token names no key')
      return { token, id: kid }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const { token, id } = proof
        const key = keys.get(id)
        if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the key has not been fetched')
        if (!isSignedBy(key, 'ES256', token.signed, token.signature))
          return refuse('SIGNATURE_MISMATCH', 'the key did not make this token')
        const { request_body_sha256: bodyHash, iat } = token.claims
        if (typeof bodyHash !== 'string' || !isSameText(bodyHash, hash('sha256', delivery.body)))
          return refuse('SIGNATURE_MISMATCH', 'the body does not match the claim request_body_sha256')
        if (iat === undefined) return refuse('SIGNATURE_MALFORMED', 'the token has no date')
        return ageFault({ iat }, delivery, toleranceSeconds) ?? { ok: true, secret: 1 }
      },
      prepare(delivery) {
        const proof = read(delivery)
        return 'ok' in proof ? undefined : keys.need(proof.id, delivery.receivedAtMs)
      },
    }
  }
}

export const plaid = provider<PlaidWebhook, PlaidWebhook, string>(
  {
    provider: 'plaid',
    about: {
      name: 'Plaid',
      category: 'fintech',
      confidence: 'documented',
      evidence: [
        'https://plaid.com/docs/api/webhooks/webhook-verification/index.html.md',
        'https://plaid.com/docs/api/webhooks/index.html.md',
        'https://gist.github.com/skylarmb/0cecf20afe16ba1959681c838ce9b3a2 (sample of a Plaid engineer)',
      ],
      unverified: [
        'the retries of 24 hours; hookonce assumes a week',
        'whether a retry keeps the date of its token: if not, it is a second event',
      ],
      notes: [
        'The secret is the API secret. It is used to fetch the keys. If there are several, the first is used.',
        'Plaid sends no event id, and equal bodies are different events: the key is made of the body and the date of its token.',
        'The signed content does not name your account. Look up the item before you act on it.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'a JSON Web Token (ES256) at `Plaid-Verification` with the SHA-256 of the body; its key is fetched by id from the Plaid API',
      dated: true,
      secret: 'credential',
      namesKey: true,
    },
    settings: {
      clientId: 'the client_id of the API of Plaid',
      environment: '`production` or `sandbox`',
    },
    event: {
      key: { hash: [`claim:${HEADER}.request_body_sha256`, `claim:${HEADER}.iat`] },
      type: { join: ['json:webhook_type', 'json:webhook_code'], separator: '.' },
      objectId: ['json:item_id', 'json:transfer_id', 'json:identity_verification_id'],
      occurredAt: { at: `claim:${HEADER}.iat`, unit: 's' },
    },
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 10,
    acceptedStatus: 200,
  },
  plaidCode(fetchText),
)

export interface PlaidWebhook {
  readonly webhook_type: string
  readonly webhook_code: string
  readonly item_id?: string
  readonly environment?: string
}
