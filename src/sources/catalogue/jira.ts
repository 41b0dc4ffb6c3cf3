import { provider } from '../provider.ts'

export const jira = provider({
  provider: 'jira',
  about: {
    name: 'Jira Cloud',
    category: 'project-management',
    confidence: 'documented',
    evidence: [
      'https://developer.atlassian.com/cloud/jira/platform/webhooks/ (cited by a secondary source)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/simstudioai/sim:apps/sim/lib/webhooks/providers/jira.ts (secondary)',
    ],
    unverified: [
      'the five retries within an hour or two; hookonce assumes a day',
      'that the identifier stays the same when the delivery is sent again',
    ],
    notes: [
      'Deliveries are signed only if the webhook has a secret. Connect apps send a JSON Web Token instead and are not supported.',
      'The type is `webhookEvent`; `issue_event_type_name`, in the payload, is more specific.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: [
      'header:x-atlassian-webhook-identifier',
      { hash: ['json:webhookEvent', 'json:issue.id', 'json:timestamp'] },
    ],
    type: 'json:webhookEvent',
    // A comment or a worklog is sent with its issue.
    objectId: [
      'json:comment.id',
      'json:worklog.id',
      'json:issue.id',
      'json:sprint.id',
      'json:version.id',
      'json:project.id',
    ],
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 20,
})
