import { provider } from '../provider.ts'

export const dockerHub = provider({
  provider: 'docker-hub',
  about: {
    name: 'Docker Hub',
    category: 'registry',
    confidence: 'documented',
    evidence: ['github.com/docker/docs:content/manuals/docker-hub/repos/manage/webhooks.md'],
    unverified: ['the retries; hookonce assumes a week'],
    notes: ['Nothing is signed. Register the URL with `?token=…`; the token is the secret.'],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: {
    key: { hash: ['json:repository.repo_name', 'json:push_data.tag', 'json:push_data.pushed_at'] },
    type: 'const:push',
    objectId: 'json:repository.repo_name',
    occurredAt: { at: 'json:push_data.pushed_at', unit: 's' },
  },
})
