import { provider } from '../provider.ts'

export const flexport = provider({
  provider: 'flexport',
  about: {
    name: 'Flexport (API v2)',
    category: 'logistics',
    confidence: 'documented',
    evidence: [
      'https://apidocs.flexport.com/v2/tag/Webhook-Endpoints/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The older header X-Hub-Signature (SHA-1) is not read.',
      'The Logistics API is another product and is not covered.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:data.resource.id', 'json:data.shipment.id'],
    occurredAt: { at: 'json:occurred_at', unit: 'iso' },
    object: 'json:data',
  },
  acceptedStatus: 200,
})
