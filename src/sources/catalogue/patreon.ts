import { provider } from '../provider.ts'

export const patreon = provider({
  provider: 'patreon',
  about: {
    name: 'Patreon',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'github.com/Patreon/platform-documentation:source/includes/_webhooks.md',
      'github.com/Patreon/platform-documentation:source/includes/_webhooks_v2.md',
    ],
    notes: [
      'Patreon signs with HMAC-MD5. MD5 is weak as a hash, but not known to be broken as an HMAC.',
      'The name of the event is in a header, which is not signed.',
      'Seven retries take up to five weeks. Waiting events are sent after the next success.',
    ],
  },
  signature: { algorithm: 'hmac-md5', header: 'x-patreon-signature', encoding: 'hex' },
  event: {
    // One change is sent under several event names, with the same body.
    key: { hash: ['header:x-patreon-event', 'body-hash'] },
    type: 'header:x-patreon-event',
    objectId: 'json:data.id',
    object: 'json:data',
  },
  retryWindowHours: 35 * 24,
})
