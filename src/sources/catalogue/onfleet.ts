import { provider } from '../provider.ts'

export const onfleet = provider({
  provider: 'onfleet',
  about: {
    name: 'Onfleet',
    category: 'logistics',
    confidence: 'documented',
    evidence: [
      'github.com/n8n-io/n8n:packages/nodes-base/nodes (secondary)/Onfleet/OnfleetTriggerHelpers.ts',
    ],
    unverified: [
      'the fields of the payload',
      'the handshake',
      '10 attempts within 2 hours; hookonce assumes a week',
    ],
    notes: ['The secret is hexadecimal and is decoded.'],
  },
  signature: {
    algorithm: 'hmac-sha512',
    header: 'x-onfleet-signature',
    encoding: 'hex',
    secretEncoding: 'hex',
  },
  event: {
    key: [{ hash: ['json:triggerId', ['json:taskId', 'json:workerId'], 'json:time'] }, 'body-hash'],
    type: ['json:triggerName', 'json:triggerId'],
    objectId: ['json:taskId', 'json:workerId'],
    occurredAt: { at: 'json:time', unit: 'ms' },
  },
  handshake: [
    { method: 'GET', when: { 'query:check': true }, signed: false, reply: { text: '{query:check}' } },
  ],
  acceptedStatus: 200,
})
