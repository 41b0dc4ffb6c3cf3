import * as buffer from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import { provider } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import type { SigningKey } from '../schemes/key.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { textOf } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { checkAge } from '../schemes/timestamp.ts'

const HEADER = 'gcms-signature'
const FORM = /^sign=([A-Za-z0-9+/]{43}=), env=([^,]{1,255}), t=([1-9]\d{0,14})$/

/** The signed content is JSON that contains the body as a string. */
const code: MakeScheme = ({ keyring, toleranceSeconds }) => ({
  verify(delivery) {
    const headers = neededHeaders(delivery, [HEADER])
    if ('ok' in headers) return headers
    const [, proof = '', environment = '', time = ''] = FORM.exec(headers[HEADER]) ?? []
    // Decoding would replace invalid bytes, and two different bodies could become equal.
    if (proof === '' || !buffer.isUtf8(delivery.body))
      return refuse(
        'SIGNATURE_MALFORMED',
        `the header ${HEADER} or the body does not have the form that Hygraph sends`,
      )
    const signature = Buffer.from(proof, 'base64')
    for (const key of keyring.keys) {
      if (!timingSafeEqual(mac(key, delivery.body, environment, Number(time)), signature)) continue
      return (
        checkAge(Number(time), delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: key.position }
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
    const body = Buffer.from(sample.body)
    const time = sample.timestampMs ?? Date.now()
    const proof = mac(key, body, 'master', time).toString('base64')
    const headers = {
      'content-type': 'application/json',
      ...sample.headers,
      [HEADER]: `sign=${proof}, env=master, t=${time}`,
    }
    return { method: 'POST', url: sample.url ?? '/', headers, body }
  },
})

function mac({ key }: SigningKey, body: Uint8Array, environment: string, time: number): Buffer {
  const signed = { Body: textOf(body), EnvironmentName: environment, TimeStamp: time }
  return createHmac('sha256', key).update(JSON.stringify(signed)).digest()
}

export const hygraph = provider(
  {
    provider: 'hygraph',
    about: {
      name: 'Hygraph',
      category: 'cms',
      confidence: 'verified',
      evidence: [
        'npm:@hygraph/utils@1.2.1:index.js',
        'npm:nuxt-webhook-validators@0.2.12:hygraph (secondary)',
      ],
      unverified: [
        'the fields that identify the event; there is no event id, so the key is made of operation, id and date of the entry',
        'whether a retry has a new date, and how long it retries; hookonce assumes a week',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'HMAC-SHA256 in base64 at `gcms-signature` over JSON that contains the body as a string, the environment and the date',
      dated: true,
    },
    event: {
      key: { hash: ['json:operation', 'json:data.id'], optional: ['json:data.updatedAt', 'json:data.stage'] },
      type: 'json:operation',
      objectId: 'json:data.id',
      occurredAt: { at: 'json:data.updatedAt', unit: 'iso' },
      object: 'json:data',
    },
    retryWindowHours: 7 * 24,
  },
  code,
)
