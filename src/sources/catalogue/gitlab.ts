import { provider } from '../provider.ts'

export const gitlab = provider({
  provider: 'gitlab',
  about: {
    name: 'GitLab',
    category: 'source-control',
    confidence: 'documented',
    evidence: [
      'https://gitlab.com/gitlab-org/gitlab/-/merge_requests/125338',
      'https://gitlab.com/gitlab-org/gitlab/-/issues/388692',
      'https://gitlab.com/gitlab-org/gitlab/-/merge_requests/160952',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
    ],
    notes: [
      '`Idempotency-Key` stays the same when the hook is sent again; servers before 17.4 send none. `X-Gitlab-Webhook-UUID` is new for each delivery.',
      '`X-Gitlab-Event-UUID` is shared by all hooks that one hook triggers, so it does not identify an event. Servers before 16.2 send no other id. For them the key is made of kind and body.',
      'The secret token is sent with each delivery, and the body is not signed. Use TLS.',
      'For hooks with a signing token use `standard-webhooks`.',
      'There is no automatic retry, but people can resend; hookonce assumes a week.',
    ],
  },
  signature: { algorithm: 'token', header: 'x-gitlab-token' },
  event: {
    key: [
      'header:idempotency-key',
      'header:x-gitlab-webhook-uuid',
      { hash: ['header:x-gitlab-event', 'body-hash'] },
    ],
    type: ['json:object_kind', 'header:x-gitlab-event'],
    objectId: ['json:object_attributes.id', 'json:checkout_sha', 'json:build_id', 'json:project.id'],
    occurredAt: { at: 'json:object_attributes.updated_at', unit: 'iso' },
  },
  answerWithinSeconds: 10,
})
