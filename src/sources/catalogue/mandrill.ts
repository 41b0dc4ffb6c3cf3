import { provider } from '../provider.ts'

export const mandrill = provider({
  provider: 'mandrill',
  about: {
    name: 'Mailchimp Transactional (Mandrill)',
    category: 'email',
    confidence: 'uncertain',
    evidence: [
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['that `_id` names an event', 'the HEAD request at set-up', 'retries: a week is counted on'],
    notes: ['The URL is signed as it was registered, then every field of the form.'],
  },
  signature: {
    algorithm: 'hmac-sha1',
    header: 'x-mandrill-signature',
    encoding: 'base64',
    content: '{url}{sortedForm}',
    covers: 'not-body',
  },
  body: { form: 'mandrill_events' },
  batch: 'json:[]',
  event: {
    key: 'item:_id',
    type: 'item:event',
    objectId: 'item:msg._id',
    occurredAt: { at: 'item:ts', unit: 's' },
  },
  handshake: [{ method: 'HEAD', signed: false, reply: {} }],
  acceptedStatus: 200,
})
