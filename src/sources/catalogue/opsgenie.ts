import { provider } from '../provider.ts'

export const opsgenie = provider({
  provider: 'opsgenie',
  about: {
    name: 'Opsgenie',
    category: 'observability',
    confidence: 'uncertain',
    evidence: ['from memory: no source was found'],
    unverified: ['everything: no source confirms it', 'the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Register the URL with `?token=…`; the token is the secret.',
      'There is no id; the key is the body, which contains action, alert and date.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: { key: 'body-hash', type: 'json:action', objectId: 'json:alert.alertId', object: 'json:alert' },
})
