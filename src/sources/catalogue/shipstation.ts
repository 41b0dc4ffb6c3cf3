import { provider } from '../provider.ts'

export const shipstation = provider({
  provider: 'shipstation',
  about: {
    name: 'ShipStation (V1)',
    category: 'shipping',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Register the URL with `?token=…`; the token is the secret.',
      'The event contains only a `resource_url`, which you fetch with the API key.',
      'V2 (ShipEngine) signs with RSA and fetched keys; it is not covered.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: { key: { hash: ['json:resource_url'] }, type: 'json:resource_type', objectId: 'json:resource_url' },
})
