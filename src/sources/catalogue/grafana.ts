import { provider } from '../provider.ts'

export const grafana = provider({
  provider: 'grafana',
  about: {
    name: 'Grafana Alerting (webhook contact point)',
    category: 'observability',
    confidence: 'verified',
    evidence: ['github.com/grafana/alerting:http/hmac.go', 'github.com/grafana/alerting:http/client.go'],
    unverified: [
      'that group, status, fingerprint and start identify an event',
      'that the alerts of one notification can be processed separately',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'A reminder of an alert that still fires is the same event.',
      'Keep the default name of the signature header. Do not set a timestamp header, because it changes the signed content.',
      'The date is the start of the alert, even when it is resolved.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-grafana-alerting-signature', encoding: 'hex' },
  batch: 'json:alerts[]',
  event: {
    key: { hash: ['json:groupKey', 'item:status', 'item:fingerprint', 'item:startsAt'] },
    type: 'item:status',
    objectId: ['item:fingerprint', 'json:groupKey'],
    occurredAt: { at: 'item:startsAt', unit: 'iso' },
  },
})
