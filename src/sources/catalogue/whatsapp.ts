import { provider } from '../provider.ts'

const CHANGE = 'json:entry.0.changes.0'

export const whatsapp = provider({
  provider: 'whatsapp',
  about: {
    name: 'WhatsApp Business (Cloud API)',
    category: 'communication',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/simstudioai/sim:apps/sim/lib/webhooks/providers/whatsapp.ts (secondary)',
      'npm:whatsapp-api-js@6.3.0:lib/index.js (secondary)',
    ],
    notes: [
      'The secret is the app secret.',
      'Every message and every status is an event. A change with neither (templates, account, …) is an event itself.',
      'The type is the field of the change: `messages` for a message, `messages.delivered` for a status.',
      'The key of a status is its message and its value: each value is sent once.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  batch: [
    'json:entry[].changes[].value.messages[]',
    'json:entry[].changes[].value.statuses[]',
    'json:entry[].changes[]',
  ],
  event: {
    key: [{ hash: ['item:id', 'item:status'] }, 'item:id', 'body-hash'],
    type: { join: [`${CHANGE}.field`, 'item:status'], separator: '.' },
    objectId: ['item:id', `${CHANGE}.value.metadata.phone_number_id`],
    occurredAt: { at: 'item:timestamp', unit: 's' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:hub.mode': 'subscribe', 'query:hub.challenge': true },
      signed: false,
      token: 'query:hub.verify_token',
      reply: { text: '{query:hub.challenge}' },
    },
  ],
  settings: { verifyToken: 'the verify token that you enter in the dashboard of the app' },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})
