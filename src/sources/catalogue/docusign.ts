import { provider } from '../provider.ts'

// One signature per active key. A hundred keys are possible, but a rotation uses only a few at
// once.
const HEADERS = Array.from({ length: 16 }, (_, index) => `x-docusign-signature-${index + 1}`)

export const docusign = provider({
  provider: 'docusign',
  about: {
    name: 'DocuSign Connect',
    category: 'e-signature',
    confidence: 'documented',
    evidence: [
      'https://developers.docusign.com/platform/webhooks/connect/validate/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'npm:nuxt-webhook-validators@0.2.12:docusign (secondary)',
    ],
    unverified: ['the time limit for an answer'],
    notes: [
      'The secret is a Connect HMAC key as displayed. Each active key signs in its own header; the first 16 are read.',
      'No event id is sent; the key is made of event, envelope and date.',
      'Choose JSON as the data format. XML is rejected with BODY_UNPARSABLE.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: HEADERS, encoding: 'base64' },
  event: {
    key: { hash: ['json:event', 'json:data.envelopeId', 'json:generatedDateTime'] },
    type: 'json:event',
    objectId: 'json:data.envelopeId',
    occurredAt: { at: 'json:generatedDateTime', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 15 * 24,
  answerWithinSeconds: 100,
})
