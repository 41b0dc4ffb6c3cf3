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
      '`Idempotency-Key` stays the same when a hook is sent again; servers before 17.4 send none. `X-Gitlab-Webhook-UUID` is new for each delivery.',
      '`X-Gitlab-Event-UUID` is shared by all hooks that one hook sets off, so it names no event. Servers before 16.2 send nothing else: there kind and body make the key.',
      'The secret token travels with each delivery and the body is not signed: use TLS.',
      'Hooks with a signing token are those of `standard-webhooks`.',
      'There is no automatic retry; a person can resend, for which a week is counted on.',
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
