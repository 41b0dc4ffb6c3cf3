import { provider } from '../provider.ts'

export const persona = provider({
  provider: 'persona',
  about: {
    name: 'Persona',
    category: 'identity',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'https://docs.withpersona.com/webhooks-best-practices#checking-signatures (cited)',
    ],
    unverified: [
      'that `data.id` stays the same when the event is sent again',
      'how long the 7 retries take; hookonce assumes a week',
      'the tolerance',
      'that both signatures of a rotation have the same date',
    ],
    notes: ['The whole `wbhsec_…` text is the key.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'persona-signature',
    encoding: 'hex',
    // During a rotation, a second `t=…,v1=…` follows after a space.
    format: { kind: 'list', itemSeparator: ', ', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's' },
  event: {
    key: 'json:data.id',
    type: 'json:data.attributes.name',
    objectId: 'json:data.attributes.payload.data.id',
    occurredAt: { at: 'json:data.attributes.created-at', unit: 'iso' },
    object: 'json:data.attributes.payload.data',
  },
  answerWithinSeconds: 5,
})
