import { createHash, createSign, createVerify } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { privateKeyOf } from '../schemes/digest.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { checkAge } from '../schemes/timestamp.ts'

const HEADER = 'x-webhook-signature'
const FORM = /^t=([1-9]\d{0,14}),v0=([A-Za-z0-9+/]{86,1366}={0,2})$/

/** The signature is made of the SHA-256 of the content, which RSA-SHA256 hashes once more. */
const code: MakeScheme = ({ keyring, toleranceSeconds }) => ({
  verify(delivery) {
    const headers = neededHeaders(delivery, [HEADER])
    if ('ok' in headers) return headers
    const [, time = '', proof = ''] = FORM.exec(headers[HEADER]) ?? []
    if (proof === '')
      return refuse('SIGNATURE_MALFORMED', `the header ${HEADER} is not t=<milliseconds>,v0=<base64>`)
    const signed = digestOf(time, delivery.body)
    for (const { key, position } of keyring.keys) {
      if (!createVerify('sha256').update(signed).verify(key, proof, 'base64')) continue
      return checkAge(Number(time), delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured public key(s) made this signature`,
    )
  },
  sign(sample) {
    const [key] = keyring.keys
    if (key === undefined) throw new HookonceError('KEYS_UNAVAILABLE', 'the secret has not been read yet')
    const body = Buffer.from(sample.body)
    const time = String(sample.timestampMs ?? Date.now())
    const proof = createSign('sha256').update(digestOf(time, body)).sign(privateKeyOf(key), 'base64')
    const headers = {
      'content-type': 'application/json',
      ...sample.headers,
      [HEADER]: `t=${time},v0=${proof}`,
    }
    return { method: 'POST', url: sample.url ?? '/', headers, body }
  },
})

function digestOf(time: string, body: Uint8Array): Buffer {
  return createHash('sha256').update(`${time}.`).update(body).digest()
}

export const bridgeXyz = provider(
  {
    provider: 'bridge-xyz',
    about: {
      name: 'Bridge (bridge.xyz, stablecoins)',
      category: 'fintech',
      confidence: 'documented',
      evidence: [
        'https://apidocs.bridge.xyz/platform/additional-information/webhooks/signature (cited by a secondary source)',
        'github.com/garethx/webhook-skills@0b2652c:skills/bridge-xyz-webhooks/references/verification.md (secondary)',
        'github.com/garethx/webhook-skills@adc0ff5:skills/bridge-xyz-webhooks/references/overview.md (secondary)',
      ],
      unverified: [
        'that a retry is signed again: an old date is rejected',
        'the retries; hookonce assumes a week',
      ],
      notes: [
        'The secret is the `public_key` that Bridge returns for each webhook.',
        'The content is hashed twice, as in the code that Bridge publishes.',
        'This is not bridgeapi.io: use `bridgeApi()` for that.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA-SHA256 in base64 at `X-Webhook-Signature` (`t=…,v0=…`) over the SHA-256 of date and body',
      secret: 'public-key',
      dated: true,
      toleranceSeconds: 600,
    },
    event: {
      key: 'json:event_id',
      type: 'json:event_type',
      objectId: ['json:event_object_id', 'json:event_object.id'],
      occurredAt: { at: 'json:event_created_at', unit: 'iso' },
      object: 'json:event_object',
    },
  },
  code,
)
