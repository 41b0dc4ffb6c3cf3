import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const supabaseAuthHooks = provider({
  provider: 'supabase-auth-hooks',
  about: {
    name: 'Supabase Auth Hooks',
    category: 'auth',
    confidence: 'documented',
    evidence: [
      'github.com/supabase/supabase@02d2e00:apps/docs/content/guides/auth/auth-hooks.mdx',
      'github.com/standard-webhooks/standard-webhooks@b2fa7b8:spec/standard-webhooks.md',
    ],
    unverified: ['that webhook-id stays the same when the hook is sent again', 'where the id of the user is'],
    notes: [
      'Supabase waits for the answer and acts on it. hookonce answers with an empty object before any handler runs. Use it for hooks that send something (SMS, mail), not for hooks that decide something (access token, verification attempts).',
      'The payload does not name the hook: give each hook its own URL and source. The type of every event is `unknown`.',
      'The secret is shown as `v1,whsec_<base64>`. If several are joined with `|`, list each one separately.',
      'A hook is tried three times within about 20 seconds.',
    ],
  },
  ...standardSignature('webhook', { secretPrefix: 'v1,whsec_' }),
  event: {
    key: 'header:webhook-id',
    objectId: 'json:user.id',
    occurredAt: { at: 'header:webhook-timestamp', unit: 's' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
  acceptedBody: '{}',
  acceptedHeaders: { 'content-type': 'application/json' },
})
