import { provider } from '../provider.ts'

export const clickup = provider({
  provider: 'clickup',
  about: {
    name: 'ClickUp',
    category: 'project-management',
    confidence: 'documented',
    evidence: [
      'https://developer.clickup.com/docs/webhooksignature',
      'github.com/simstudioai/sim:apps/sim/lib/webhooks/providers/clickup.ts (secondary)',
    ],
    unverified: ['the five attempts; hookonce assumes a week', 'where the date of the event is'],
    notes: [
      'The secret is `webhook.secret` in the response to creating the webhook.',
      'The key is made of the webhook and the first history item. Without one, equal bodies count as one event.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-signature', encoding: 'hex' },
  event: {
    key: [{ hash: ['json:webhook_id', 'json:history_items.0.id'] }, 'body-hash'],
    type: 'json:event',
    objectId: ['json:task_id', 'json:list_id', 'json:folder_id', 'json:space_id', 'json:goal_id'],
    occurredAt: { at: 'json:history_items.0.date', unit: 'ms' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 7,
})
