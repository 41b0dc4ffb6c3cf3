import { provider } from '../provider.ts'

export const workos = provider({
  provider: 'workos',
  about: {
    name: 'WorkOS',
    category: 'auth',
    confidence: 'verified',
    evidence: [
      'npm:@workos-inc/node@8.13.0:lib/factory-HM2NchXm.mjs',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of three days; hookonce assumes a week', 'the tolerance of 180 seconds'],
    notes: [
      'The SDK verifies the payload after JSON.stringify; hookonce verifies the bytes as received.',
      'Actions expect a special answer and are not supported.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'workos-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 'ms', toleranceSeconds: 180 },
  event: {
    key: 'json:id',
    type: 'json:event',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})
