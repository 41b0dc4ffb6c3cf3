import { provider } from '../provider.ts'

export const statuspage = provider({
  provider: 'statuspage',
  about: {
    name: 'Atlassian Statuspage',
    category: 'observability',
    confidence: 'uncertain',
    evidence: ['from memory: no source was found'],
    unverified: ['everything: no source confirms it', 'the retries; hookonce assumes a week'],
    notes: ['Nothing is signed. Register the URL with `?token=…`; the token is the secret.'],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: {
    key: ['json:incident.incident_updates.0.id', 'json:component_update.id', 'body-hash'],
    type: { present: ['json:incident', 'json:component_update'] },
    objectId: ['json:incident.id', 'json:component.id'],
    occurredAt: { at: ['json:meta.generated_at', 'json:incident.updated_at'], unit: 'iso' },
    object: ['json:incident', 'json:component'],
  },
})
