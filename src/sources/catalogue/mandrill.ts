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
    unverified: ['the HEAD request at set-up', 'the retries; hookonce assumes a week'],
    notes: [
      'The signature covers the registered URL, then every field of the form.',
      '`_id` identifies the message, so event, date, link and client are part of the key. Inbound mail and deny-list changes have no id; they are distinguished by their content.',
    ],
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
    key: [
      {
        hash: ['item:event', 'item:_id', 'item:ts'],
        optional: ['item:url', 'item:ip', 'item:user_agent'],
      },
      { hash: [['item:event', 'item:type'], 'item-hash'] },
    ],
    type: ['item:event', 'item:type'],
    objectId: 'item:msg._id',
    occurredAt: { at: 'item:ts', unit: 's' },
  },
  handshake: [{ method: 'HEAD', signed: false, reply: {} }],
  acceptedStatus: 200,
})
