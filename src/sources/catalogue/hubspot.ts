import { provider } from '../provider.ts'
import { severalSignatures } from '../schemes/several-signatures.ts'
import type { DigestSignature } from '../signature.ts'

const V3 = 'x-hubspot-signature-v3'

function older(content: string): DigestSignature {
  return {
    algorithm: 'sha256',
    header: 'x-hubspot-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: '' },
    content,
    covers: 'body',
    secretEncoding: 'utf8',
    secretPrefix: '',
  }
}

/**
 * The older versions are used only without a version 3 signature, which alone is dated. A plain
 * hash allows appending bytes, but the first appended byte is never valid UTF-8 after JSON, and
 * such a body is rejected.
 */
const code = severalSignatures(
  [
    { version: 'v1', content: '{secret}{body}' },
    { version: 'v2', content: '{secret}{method}{url}{body}' },
  ].map(({ version, content }) => ({
    signature: older(content),
    isDated: false,
    claims: (delivery) =>
      delivery.header(V3) === undefined && delivery.header('x-hubspot-signature-version') === version,
  })),
)

export const hubspot = provider(
  {
    provider: 'hubspot',
    about: {
      name: 'HubSpot',
      category: 'crm',
      confidence: 'verified',
      evidence: [
        'npm:@hubspot/api-client@13.5.0:lib/src/utils/signature.js',
        'https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests.md',
        'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
      ],
      unverified: ['the size of batches', 'that eventId alone may repeat'],
      notes: [
        'Uses the version 3 signature if present. Otherwise versions 1 and 2 are accepted: plain hashes without a date, so only the event key detects an old delivery.',
        'Webhooks of workflows are one object, with the type `workflow`. They have no id: the key is `callbackId`, or else the whole body.',
        '`eventId` is reportedly not unique on its own, so subscription and date are part of the key.',
      ],
    },
    signature: {
      algorithm: 'hmac-sha256',
      header: V3,
      encoding: 'base64',
      content: '{method}{url}{body}{timestamp}',
    },
    timestamp: { at: 'header:x-hubspot-request-timestamp', unit: 'ms', toleranceSeconds: 300 },
    batch: 'json:[]',
    event: {
      key: [
        { hash: ['item:eventId', 'item:subscriptionId', 'item:occurredAt'] },
        'item:callbackId',
        { hash: [['item:objectId', 'item:vid', 'item:object.objectId'], 'body-hash'] },
      ],
      type: ['item:subscriptionType', 'const:workflow'],
      objectId: ['item:objectId', 'item:vid', 'item:object.objectId'],
      occurredAt: { at: 'item:occurredAt', unit: 'ms' },
      version: { at: 'item:occurredAt', unit: 'ms' },
    },
    retryWindowHours: 72,
    answerWithinSeconds: 5,
  },
  code,
)
