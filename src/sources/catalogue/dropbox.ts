import { provider } from '../provider.ts'

export const dropbox = provider({
  provider: 'dropbox',
  about: {
    name: 'Dropbox',
    category: 'storage',
    confidence: 'verified',
    evidence: ['github.com/dropbox/mdwebhook:app.py'],
    unverified: ['retries'],
    notes: [
      'A delivery only states which accounts have changes. Every delivery is a separate event, including retries.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-dropbox-signature', encoding: 'hex' },
  event: { key: 'each-delivery', type: { present: ['json:list_folder'] }, object: 'json:list_folder' },
  handshake: [
    {
      method: 'GET',
      when: { 'query:challenge': true },
      signed: false,
      reply: { text: '{query:challenge}' },
    },
  ],
  answerWithinSeconds: 10,
})
