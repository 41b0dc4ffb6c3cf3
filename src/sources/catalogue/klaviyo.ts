import { provider } from '../provider.ts'

export const klaviyo = provider({
  provider: 'klaviyo',
  about: {
    name: 'Klaviyo (system webhooks)',
    category: 'marketing',
    confidence: 'documented',
    evidence: [
      'https://developers.klaviyo.com/en/docs/system-webhooks',
      'https://www.skills.sh/hookdeck/webhook-skills/klaviyo-webhooks (secondary)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['where object and date of an event are', 'how long it retries; hookonce assumes a week'],
    notes: [
      'The date is signed as sent. Its unit and tolerance are not documented, so it is not checked: only the event key detects an old delivery.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'klaviyo-signature',
    encoding: 'hex',
    content: '{body}{header:klaviyo-timestamp}',
  },
  batch: 'json:data[]',
  event: {
    key: 'item:external_id',
    type: 'item:topic',
    objectId: 'item:payload.data.id',
    occurredAt: { at: 'item:payload.data.attributes.datetime', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
})
