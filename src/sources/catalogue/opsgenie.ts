import { provider } from '../provider.ts'

export const opsgenie = provider({
  provider: 'opsgenie',
  about: {
    name: 'Opsgenie',
    category: 'observability',
    confidence: 'uncertain',
    evidence: ['recalled: no source was found'],
    unverified: ['everything: it was not seen in any source', 'retries: a week is counted on'],
    notes: [
      'Nothing is signed: register the URL with `?token=…`, and that is the secret.',
      'There is no id: the body with action, alert and date is the key.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: { key: 'body-hash', type: 'json:action', objectId: 'json:alert.alertId', object: 'json:alert' },
})
