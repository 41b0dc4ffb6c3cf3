import { provider } from '../provider.ts'

export const shipstation = provider({
  provider: 'shipstation',
  about: {
    name: 'ShipStation (V1)',
    category: 'shipping',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['retries: a week is counted on'],
    notes: [
      'Nothing is signed: register the URL with `?token=…`, and that is the secret.',
      'The event holds a `resource_url` to fetch with the API key, and nothing else.',
      'V2 (ShipEngine) signs with RSA and fetched keys; it is not covered.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: { key: { hash: ['json:resource_url'] }, type: 'json:resource_type', objectId: 'json:resource_url' },
})
