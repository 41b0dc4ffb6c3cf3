import { provider } from '../provider.ts'

export const mailchimp = provider({
  provider: 'mailchimp',
  about: {
    name: 'Mailchimp Marketing',
    category: 'marketing',
    confidence: 'documented',
    evidence: [
      'https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['where the date of the event is', 'the retries of about 75 minutes; hookonce assumes a day'],
    notes: [
      'Nothing is signed. Register the URL with `?token=<secret>` at the end.',
      'Events have no id: two events with equal bodies count as one.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  body: 'form',
  event: {
    key: 'body-hash',
    type: 'form:type',
    objectId: ['form:data[id]', 'form:data[email]', 'form:data[list_id]'],
    occurredAt: { at: 'form:fired_at', unit: 'iso' },
  },
  // When the webhook is saved, Mailchimp sends a GET to the URL, including the token.
  handshake: [{ method: 'GET', signed: true }],
  retryWindowHours: 24,
  acceptedStatus: 200,
})
