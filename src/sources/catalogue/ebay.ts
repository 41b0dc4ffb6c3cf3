import { createPublicKey, createVerify, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { parseJsonText } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { remoteKeys } from '../schemes/remote-keys.ts'

const HEADER = 'x-ebay-signature'

const HOSTS: Readonly<Record<string, string>> = {
  production: 'https://api.ebay.com',
  sandbox: 'https://api.sandbox.ebay.com',
}

/**
 * eBay signs the body. Its keys are fetched by id, with a token obtained with the API credentials.
 */
export function ebayCode(fetcher: FetchText): MakeScheme {
  return ({ keyring, endpoint }) => {
    const host = HOSTS[endpoint.setting('environment')]
    if (host === undefined)
      throw new HookonceError('CONFIG_INVALID', "ebay: settings.environment: 'production' or 'sandbox'")

    // A token lives for hours, but a key is fetched once a day, so the token is not cached.
    const keys = remoteKeys(async (id) => {
      const secret = keyring.keys[0]?.key.export().toString()
      const credentials = Buffer.from(`${endpoint.setting('clientId')}:${secret}`).toString('base64')
      const granted = await fetcher(`${host}/identity/v1/oauth2/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${credentials}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope: 'https://api.ebay.com/oauth/api_scope',
        }).toString(),
      })
      const { access_token: token } = (parseJsonText(granted) ?? {}) as { access_token?: unknown }
      if (typeof token !== 'string') throw new Error('eBay returned no access token')
      const answer = await fetcher(`${host}/commerce/notification/v1/public_key/${id}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return publicKeyOf(answer)
    }, endpoint.keyNames)

    function read(delivery: Delivery): { id: string; signature: Buffer } | Refusal {
      const headers = neededHeaders(delivery, [HEADER])
      if ('ok' in headers) return headers
      const parsed = parseJsonText(Buffer.from(headers[HEADER], 'base64').toString('utf8'))
      const { kid, signature } = (parsed ?? {}) as { kid?: unknown; signature?: unknown }
      // Checked before it becomes part of an address.
      if (typeof signature !== 'string' || typeof kid !== 'string' || !/^[\w-]{1,64}$/.test(kid))
        return refuse('SIGNATURE_MALFORMED', `the header ${HEADER} contains no signature with a key id`)
      return { id: kid, signature: Buffer.from(signature, 'base64') }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const key = keys.get(proof.id)
        if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the key has not been fetched')
        return createVerify('sha1').update(delivery.body).verify(key, proof.signature)
          ? { ok: true, secret: 1 }
          : refuse('SIGNATURE_MISMATCH', 'the key did not make this signature')
      },
      prepare(delivery) {
        const proof = read(delivery)
        return 'ok' in proof ? undefined : keys.need(proof.id, delivery.receivedAtMs)
      },
    }
  }
}

/** The PEM is sent without line breaks. */
function publicKeyOf(answer: string): KeyObject {
  const { key: text } = (parseJsonText(answer) ?? {}) as { key?: unknown }
  const base64 = /^-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(
    String(text),
  )?.[1]
  if (base64 === undefined) throw new Error('the response contains no public key')
  const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })
  if (key.asymmetricKeyType !== 'ec') throw new Error('the key is not an elliptic-curve key')
  return key
}

export const ebay = provider<EbayNotification, unknown, string>(
  {
    provider: 'ebay',
    about: {
      name: 'eBay Notifications',
      category: 'commerce',
      confidence: 'verified',
      evidence: [
        'npm:event-notification-nodejs-sdk@1.0.3:lib/validator.js',
        'npm:event-notification-nodejs-sdk@1.0.3:lib/client.js',
        'npm:event-notification-nodejs-sdk@1.0.3:lib/constants.js',
        'github.com/eBay/event-notification-nodejs-sdk:test/test.json',
      ],
      unverified: ['the statuses that it accepts as success', 'the retries; hookonce assumes a week'],
      notes: [
        'The secret is the client secret of the application (Cert ID). It is used to fetch the keys. If there are several, the first is used.',
        'hookonce verifies the body as received. The SDK of eBay serialises the JSON again first.',
        'eBay signs with SHA-1.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'ECDSA with SHA-1 over the body, as base64-encoded JSON in `X-EBAY-SIGNATURE`; the key is fetched by id from the eBay API',
      secret: 'credential',
      namesKey: true,
    },
    settings: {
      clientId: 'the client id of the application (App ID)',
      environment: '`production` or `sandbox`',
      verificationToken: 'the token that you gave eBay for this URL',
    },
    event: {
      key: 'json:notification.notificationId',
      type: 'json:metadata.topic',
      objectId: 'json:notification.data.userId',
      occurredAt: { at: 'json:notification.eventDate', unit: 'iso' },
      object: 'json:notification.data',
    },
    handshake: [
      {
        method: 'GET',
        when: { 'query:challenge_code': true },
        signed: false,
        reply: {
          json: {
            challengeResponse: {
              algorithm: 'sha256',
              of: '{query:challenge_code}{setting:verificationToken}{url}',
              encoding: 'hex',
            },
          },
        },
      },
    ],
    retryWindowHours: 7 * 24,
    acceptedStatus: 200,
    refusedStatus: 412,
  },
  ebayCode(fetchText),
)

export interface EbayNotification {
  readonly metadata: { readonly topic: string }
  readonly notification: { readonly notificationId: string; readonly data: unknown }
}
