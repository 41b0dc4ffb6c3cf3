import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const ampersand = provider({
  provider: 'ampersand',
  about: {
    name: 'Ampersand',
    category: 'integration',
    confidence: 'documented',
    evidence: [
      'github.com/amp-labs/docs@791fbb0:src/destinations/webhooks.mdx',
      'github.com/amp-labs/docs@791fbb0:src/notifications/notification-payloads.mdx',
      'github.com/hookdeck/webhook-samples@84a3957 (sample bodies)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The headers are those of Svix, `svix-*`. The secret is that of the destination.',
      'A delivery contains several records of one object in `result`. It is one event.',
      'A `resultInfo.downloadUrl` is valid for 15 minutes: fetch it at once.',
    ],
  },
  ...standardSignature('svix'),
  event: {
    key: 'header:svix-id',
    type: { join: [['json:notificationType', 'json:action'], 'json:objectName'], separator: '.' },
    objectId: ['json:installationId', 'json:data.installationId'],
    occurredAt: { at: 'json:operationTime', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
})
