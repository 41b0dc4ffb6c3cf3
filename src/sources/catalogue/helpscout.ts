import { provider } from '../provider.ts'

export const helpscout = provider({
  provider: 'helpscout',
  about: {
    name: 'Help Scout',
    category: 'support',
    confidence: 'verified',
    evidence: [
      'https://developer.helpscout.com/webhooks',
      'npm:n8n-nodes-base@2.41.2:dist/nodes/HelpScout/HelpScoutTrigger.node.js (secondary)',
    ],
    unverified: ['that a retry repeats the body', 'the retries; hookonce assumes a week'],
    notes: ['There is no id; the key is made of event and body, which contains the date of the last change.'],
  },
  signature: { algorithm: 'hmac-sha1', header: 'x-helpscout-signature', encoding: 'base64' },
  event: {
    key: { hash: ['header:x-helpscout-event', 'body-hash'] },
    type: 'header:x-helpscout-event',
    objectId: 'json:id',
  },
  acceptedStatus: 200,
})
