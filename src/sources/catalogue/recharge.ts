import { provider } from '../provider.ts'

export const recharge = provider({
  provider: 'recharge',
  about: {
    name: 'Recharge',
    category: 'commerce',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['that the topic is always sent: without it the type is `unknown`'],
    notes: [
      'The secret is the client secret of the API.',
      'The tolerance is as long as the retries, 48 hours; after 20 failures the webhook is deleted.',
      'There is no id; the key is made of topic and body.',
      'The legacy header X-Recharge-Hmac-Sha256, a plain hash, is sent beside it and ignored.',
      'The object is under the name of its kind (`charge`, `subscription`, …), so its id is not read.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-recharge-webhook-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 48 * 3600 },
  event: {
    key: { hash: ['body-hash'], optional: ['header:x-recharge-topic'] },
    type: ['header:x-recharge-topic', 'const:unknown'],
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
