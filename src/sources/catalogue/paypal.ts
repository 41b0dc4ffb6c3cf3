import { createVerify } from 'node:crypto'
import * as zlib from 'node:zlib'
import type { Delivery, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import {
  type CertificateSource,
  publicRoots,
  publishedIssuer,
  trustedCertificate,
} from '../schemes/certificate-chain.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { fetchBytes } from '../schemes/fetch-text.ts'
import { genuineUrl } from '../schemes/genuine-url.ts'
import { neededHeaders } from '../schemes/needed-headers.ts'
import { refuse } from '../schemes/refuse.ts'
import { remoteKeys } from '../schemes/remote-keys.ts'

const HEADERS = [
  'paypal-transmission-id',
  'paypal-transmission-time',
  'paypal-transmission-sig',
  'paypal-cert-url',
] as const

const GENUINE_HOST = /^api(?:-m)?(?:\.sandbox)?\.paypal\.com$/
const CERTIFICATE_PATH = /^\/v1\/notifications\/certs\/[\w-]{1,200}$/
const ISSUERS = /^http:\/\/cacerts\.digicert\.com\/[\w.-]{1,100}$/
const GENUINE_NAME = /^CN=(?:[a-z0-9-]+\.)+paypal\.com$/m

/**
 * PayPal signs its own headers, the webhook's id and a checksum of the body, with a certificate.
 * Each delivery names the certificate.
 */
export function paypalCode({ fetcher, roots }: CertificateSource): MakeScheme {
  return ({ endpoint }) => {
    const webhookId = endpoint.setting('webhookId')

    const certificates = remoteKeys(async (url, nowMs) => {
      const certificate = await trustedCertificate((await fetcher(url)).toString('utf8'), {
        roots: roots(),
        nowMs,
        fetchIssuer: (issued) => publishedIssuer(issued, ISSUERS, fetcher),
      })
      if (!GENUINE_NAME.test(certificate.subject))
        throw new Error('the certificate does not belong to PayPal')
      return certificate.publicKey
    }, endpoint.keyNames)

    function read(delivery: Delivery): { certificate: string; signed: string; signature: Buffer } | Refusal {
      const headers = neededHeaders(delivery, HEADERS)
      if ('ok' in headers) return headers
      const url = genuineUrl(headers['paypal-cert-url'], GENUINE_HOST)
      if (url === undefined || !CERTIFICATE_PATH.test(url.pathname) || url.search !== '')
        return refuse('SIGNATURE_MALFORMED', 'PAYPAL-CERT-URL is not an address at PayPal')
      const id = headers['paypal-transmission-id']
      const time = headers['paypal-transmission-time']
      return {
        certificate: url.origin + url.pathname,
        signed: `${id}|${time}|${webhookId}|${zlib.crc32(delivery.body)}`,
        signature: Buffer.from(headers['paypal-transmission-sig'], 'base64'),
      }
    }

    return {
      verify(delivery) {
        const proof = read(delivery)
        if ('ok' in proof) return proof
        const key = certificates.get(proof.certificate)
        if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the certificate has not been fetched')
        return createVerify('sha256').update(proof.signed).verify(key, proof.signature)
          ? { ok: true, secret: 1 }
          : refuse(
              'SIGNATURE_MISMATCH',
              'the certificate did not make this signature; check that settings.webhookId belongs to this URL',
            )
      },
      prepare(delivery) {
        const proof = read(delivery)
        // `verify` reports the fault. Nothing is fetched for an invalid delivery.
        return 'ok' in proof ? undefined : certificates.need(proof.certificate, delivery.receivedAtMs)
      },
    }
  }
}

export const paypal = keyless<PayPalEvent, unknown, string>(
  {
    provider: 'paypal',
    about: {
      name: 'PayPal',
      category: 'payments',
      confidence: 'verified',
      evidence: [
        'github.com/paypal/PayPal-Python-SDK:paypalrestsdk/notifications.py',
        'github.com/paypal/PayPal-Python-SDK:test/unit_tests/notifications_test.py',
        'github.com/hookdeck/webhook-samples@84a3957 (captured real requests)',
      ],
      unverified: [
        'the retries of 3 days; hookonce assumes a week',
        'whether a retry has a new date: the age of a delivery is therefore not checked',
      ],
      notes: [
        'Only the CRC-32 of the body is signed. Anyone who holds a delivery can forge another body with this 32-bit checksum: use TLS.',
        'Certificates must come from PayPal, chain to a public root, and be issued to a name under paypal.com.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA-SHA256 over transmission id, time, webhook id and CRC-32 of the body, with the certificate at `PAYPAL-CERT-URL`, which must be at PayPal',
      secret: 'none',
      namesKey: true,
    },
    settings: { webhookId: 'the id that PayPal shows for the webhook; it is part of the signed text' },
    event: {
      key: 'json:id',
      type: 'json:event_type',
      objectId: 'json:resource.id',
      occurredAt: { at: 'json:create_time', unit: 'iso' },
      object: 'json:resource',
    },
    retryWindowHours: 7 * 24,
  },
  paypalCode({ fetcher: fetchBytes, roots: publicRoots }),
)

export interface PayPalEvent {
  readonly id: string
  readonly event_type: string
  readonly create_time: string
  readonly resource_type: string
  readonly resource: unknown
}
