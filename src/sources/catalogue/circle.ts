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

const SIGNATURE = 'x-circle-signature'
const KEY_ID = 'x-circle-key-id'

const KEYS: Readonly<Record<string, string>> = {
  wallets: 'https://api.circle.com/v2/notifications/publicKey/',
  cpn: 'https://api.circle.com/v2/cpn/notifications/publicKey/',
}

/** Circle signs the body. Its keys are fetched by id, with the API key. */
export function circleCode(fetcher: FetchText): MakeScheme {
  return ({ keyring, endpoint }) => {
    const address = KEYS[endpoint.setting('product')]
    if (address === undefined)
      throw new HookonceError('CONFIG_INVALID', "circle: settings.product: 'wallets' or 'cpn'")

    const keys = remoteKeys(async (id) => {
      const apiKey = keyring.keys[0]?.key.export().toString()
      return publicKeyOf(await fetcher(`${address}${id}`, { headers: { authorization: `Bearer ${apiKey}` } }))
    }, endpoint.keyNames)

    function read(delivery: Delivery): { id: string; signature: Buffer } | Refusal {
      const headers = neededHeaders(delivery, [SIGNATURE, KEY_ID])
      if ('ok' in headers) return headers
      const { [SIGNATURE]: proof, [KEY_ID]: id } = headers
      // Checked before it becomes part of an address.
      if (!/^[0-9A-Fa-f-]{36}$/.test(id))
        return refuse('SIGNATURE_MALFORMED', `the header ${KEY_ID} is not a UUID`)
      if (!/^[A-Za-z0-9+/]{11,200}={0,2}$/.test(proof))
        return refuse('SIGNATURE_MALFORMED', `the header ${SIGNATURE} is not base64`)
      return { id, signature: Buffer.from(proof, 'base64') }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const key = keys.get(proof.id)
        if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the key has not been fetched')
        return createVerify('sha256').update(delivery.body).verify(key, proof.signature)
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

function publicKeyOf(answer: string): KeyObject {
  const { data } = (parseJsonText(answer) ?? {}) as { data?: { algorithm?: unknown; publicKey?: unknown } }
  if (data?.algorithm !== 'ECDSA_SHA_256' || typeof data.publicKey !== 'string')
    throw new Error('the response contains no key for ECDSA_SHA_256')
  const key = createPublicKey({ key: Buffer.from(data.publicKey, 'base64'), format: 'der', type: 'spki' })
  if (key.asymmetricKeyType !== 'ec') throw new Error('the key is not an elliptic-curve key')
  return key
}

export const circle = provider(
  {
    provider: 'circle',
    about: {
      name: 'Circle (wallets and payments network)',
      category: 'fintech',
      confidence: 'documented',
      evidence: [
        'npm:@circle-fin/developer-controlled-wallets@10.6.0:dist/types/developer-controlled-wallets.d.ts (headers and address of the key)',
        'https://developers.circle.com/cpn/guides/webhooks/verify-webhook-signatures (cited by a secondary source)',
        'github.com/garethx/webhook-skills@61f24e3:skills/circle-webhooks/references/verification.md (secondary)',
      ],
      unverified: ['the retries; hookonce assumes a week'],
      notes: [
        'The secret is an API key. It is used to fetch the keys. If there are several, the first is used.',
        'Circle checks the URL with HEAD. hookonce answers it.',
        'Circle Mint (v1) notifies in another way and is not covered.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'ECDSA with SHA-256 over the body, in base64 at `X-Circle-Signature`; the key is fetched by the id in `X-Circle-Key-Id` from the Circle API',
      secret: 'credential',
      namesKey: true,
    },
    settings: { product: '`wallets` or `cpn`' },
    event: {
      key: 'json:notificationId',
      type: 'json:notificationType',
      objectId: 'json:notification.id',
      occurredAt: { at: 'json:timestamp', unit: 'iso' },
      object: 'json:notification',
    },
    handshake: [{ method: 'HEAD', signed: false }],
    acceptedStatus: 200,
  },
  circleCode(fetchText),
)
