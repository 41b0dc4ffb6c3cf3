import { provider } from '../provider.ts'

export const retell = provider({
  provider: 'retell',
  about: {
    name: 'Retell AI',
    category: 'ai',
    confidence: 'verified',
    evidence: [
      'npm:retell-sdk@5.66.1:lib/webhook_auth.js',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'https://docs.retellai.com/features/webhook-overview',
    ],
    unverified: ['that every other event occurs once per call', 'the 3 attempts; hookonce assumes a week'],
    notes: [
      'The secret is the API key with the webhook badge.',
      'A call has many `transcript_updated` events and may be transferred more than once, so transcript and destination are part of the key.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-retell-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'd' },
    content: '{body}{timestamp}',
  },
  timestamp: { at: 'field:v', unit: 'ms' },
  event: {
    key: [
      {
        hash: ['json:event', ['json:call.call_id', 'json:chat.chat_id']],
        optional: [
          { textOf: 'json:transcript_with_tool_calls' },
          'json:call.transcript',
          { textOf: 'json:transfer_destination' },
        ],
      },
      { hash: ['json:event', 'body-hash'] },
    ],
    type: 'json:event',
    objectId: ['json:call.call_id', 'json:chat.chat_id'],
    occurredAt: { at: ['json:call.end_timestamp', 'json:call.start_timestamp'], unit: 'ms' },
    object: ['json:call', 'json:chat'],
  },
  answerWithinSeconds: 10,
})
