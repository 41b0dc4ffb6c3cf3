import { provider } from '../provider.ts'

export const gumroad = provider({
  provider: 'gumroad',
  about: {
    name: 'Gumroad (Ping / resource subscriptions)',
    category: 'commerce',
    confidence: 'verified',
    evidence: [
      'github.com/antiwork/gumroad:app/sidekiq/post_to_individual_ping_endpoint_worker.rb',
      'github.com/antiwork/gumroad:app/modules/purchase/ping_notification.rb',
      'github.com/antiwork/gumroad:app/models/resource_subscription.rb',
    ],
    notes: [
      'Nothing is signed. Register the URL with `?token=…`; the token is the secret.',
      'There is no id. Of two events of one kind for one sale, the first is kept and the other is reported as a mismatch. Events of a subscription are distinguished by their body.',
      'Retries come after 1, 3 and 10 minutes, and only after a 5xx or a timeout.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  body: 'form',
  event: {
    key: [{ hash: ['form:resource_name', 'form:sale_id'] }, 'body-hash'],
    type: 'form:resource_name',
    objectId: ['form:sale_id', 'form:subscription_id'],
    occurredAt: { at: 'form:sale_timestamp', unit: 'iso' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 5,
})
