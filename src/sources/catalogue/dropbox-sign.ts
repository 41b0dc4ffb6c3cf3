import { provider } from '../provider.ts'

export const dropboxSign = provider({
  provider: 'dropbox-sign',
  about: {
    name: 'Dropbox Sign (HelloSign)',
    category: 'e-signature',
    confidence: 'verified',
    evidence: [
      'npm:@dropbox/sign@1.11.0:dist (EventCallbackHelper.isValid, EventCallbackRequest)',
      'https://help.dropbox.com/integrations/example-of-a-dropbox-sign-callback-event',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['the 6 retries, up to 20 hours apart; hookonce assumes a week'],
    notes: [
      'Only time and type of the event are signed: anyone who holds one delivery can change the rest. Use TLS.',
      'The secret is the API key.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    at: 'json:event.event_hash',
    encoding: 'hex',
    content: '{json:event.event_time}{json:event.event_type}',
    covers: 'not-body',
  },
  body: { form: 'json' },
  event: {
    key: {
      // The hash covers only time and type. Events in the same second share it: of two requests or
      // templates, and of two signers of one request.
      hash: ['json:event.event_hash'],
      optional: [
        'json:signature_request.signature_request_id',
        'json:event.event_metadata.related_signature_id',
        'json:template.template_id',
      ],
    },
    type: 'json:event.event_type',
    objectId: 'json:signature_request.signature_request_id',
    occurredAt: { at: 'json:event.event_time', unit: 's' },
    object: 'json:signature_request',
  },
  answerWithinSeconds: 30,
  acceptedStatus: 200,
  acceptedBody: 'Hello API Event Received',
})
