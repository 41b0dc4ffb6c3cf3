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
    unverified: ['the five attempts: a week is counted on', 'where the date of the event is'],
    notes: [
      'The secret is in the answer that made the webhook, `webhook.secret`.',
      'The key is made of the webhook and the first entry of the history; without one, equal bodies are one event.',
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
