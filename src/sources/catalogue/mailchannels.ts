import { createPublicKey, type KeyObject } from 'node:crypto'
import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { isSignedBy } from '../schemes/jws.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { parseJsonText } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { remoteKeys } from '../schemes/remote-keys.ts'
import { checkAge } from '../schemes/timestamp.ts'
import { isSameText } from '../schemes/token.ts'

const KEYS = 'https://api.mailchannels.net/tx/v1/webhook/public-key'

const INPUT = /^(sig_\d{1,4})=(\("content-digest"\);created=(\d{1,12});alg="ed25519";keyid="([\w-]{1,64})")$/

interface SignedParts {
  readonly id: string
  readonly signed: string
  readonly signature: Buffer
  readonly signedAtMs: number
}

/** HTTP Message Signatures (RFC 9421) over the digest of the body (RFC 9530). */
export function mailchannelsCode(fetcher: FetchText): MakeScheme {
  return ({ endpoint, toleranceSeconds }) => {
    const keys = remoteKeys(async (id) => publicKeyOf(await fetcher(`${KEYS}?id=${id}`)), endpoint.keyNames)

    function read(delivery: Delivery): SignedParts | Refusal {
      const headers = neededHeaders(delivery, ['content-digest', 'signature', 'signature-input'])
      if ('ok' in headers) return headers
      const [, name, parameters, created, id] = INPUT.exec(headers['signature-input']) ?? []
      const [, signedAs, proof = ''] = /^(sig_\d{1,4})=:([A-Za-z0-9+/]{86}==):$/.exec(headers.signature) ?? []
      if (id === undefined || name !== signedAs)
        return refuse('SIGNATURE_MALFORMED', 'the signature does not have the form that MailChannels sends')
      const digest = headers['content-digest']
      if (!isSameText(digest, `sha-256=:${hash('sha256', delivery.body, 'base64')}:`))
        return refuse('SIGNATURE_MISMATCH', 'the body does not match content-digest')
      return {
        id,
        signed: `"content-digest": ${digest}\n"@signature-params": ${parameters}`,
        signature: Buffer.from(proof, 'base64'),
        signedAtMs: Number(created) * 1000,
      }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const key = keys.get(proof.id)
        if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the key has not been fetched')
        if (!isSignedBy(key, 'EdDSA', proof.signed, proof.signature))
          return refuse('SIGNATURE_MISMATCH', 'the key did not make this signature')
        return checkAge(proof.signedAtMs, delivery.receivedAtMs, toleranceSeconds) ?? { ok: true, secret: 1 }
      },
      prepare(delivery) {
        const proof = read(delivery)
        return 'ok' in proof ? undefined : keys.need(proof.id, delivery.receivedAtMs)
      },
    }
  }
}

function publicKeyOf(answer: string): KeyObject {
  const { key: text } = (parseJsonText(answer) ?? {}) as { key?: unknown }
  if (typeof text !== 'string') throw new Error('the response contains no public key')
  const der = Buffer.from(text.replace(/-----[A-Z ]+-----/g, ''), 'base64')
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

export const mailchannels = keyless(
  {
    provider: 'mailchannels',
    about: {
      name: 'MailChannels',
      category: 'email',
      confidence: 'uncertain',
      evidence: ['npm:nuxt-webhook-validators@0.2.12:mailchannels (secondary)'],
      unverified: ['the fields of the events', 'the retries; hookonce assumes a week'],
      notes: [
        'It sends no event id; the key is the hash of each event.',
        'MailChannels signs for all customers with the same keys. Check that an event belongs to your account before you act on it.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'HTTP Message Signatures (RFC 9421, Ed25519) over `Content-Digest`; the key is fetched by id from MailChannels',
      dated: true,
      secret: 'none',
      namesKey: true,
    },
    batch: 'json:[]',
    event: {
      key: 'body-hash',
      type: 'item:event',
      objectId: 'item:smtp_id',
      occurredAt: { at: 'item:timestamp', unit: 's' },
    },
    retryWindowHours: 7 * 24,
  },
  mailchannelsCode(fetchText),
)
