import { provider } from '../provider.ts'

export const webex = provider({
  provider: 'webex',
  about: {
    name: 'Cisco Webex',
    category: 'communication',
    confidence: 'documented',
    evidence: [
      'https://developer.webex.com/docs/api/guides/webhooks',
      'npm:n8n-nodes-base@2.41.2:dist/nodes/Cisco/Webex/CiscoWebexTrigger.node.js (secondary)',
    ],
    unverified: ['that a retry repeats the body', 'the retries; hookonce assumes a week'],
    notes: [
      'Only webhooks with a secret are signed; others are rejected.',
      'There is no event id; the key is the body. The text of a message is not in it: fetch the message by its id.',
    ],
  },
  signature: { algorithm: 'hmac-sha1', header: 'x-spark-signature', encoding: 'hex' },
  event: {
    key: 'body-hash',
    type: { join: ['json:resource', 'json:event'], separator: '.' },
    objectId: 'json:data.id',
    object: 'json:data',
  },
  acceptedStatus: 200,
})
