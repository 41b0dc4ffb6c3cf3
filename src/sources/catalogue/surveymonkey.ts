import { provider } from '../provider.ts'

export const surveymonkey = provider({
  provider: 'surveymonkey',
  about: {
    name: 'SurveyMonkey',
    category: 'forms',
    confidence: 'documented',
    evidence: [
      'https://asyncapi.apis.io/asyncapis/surveymonkey/surveymonkey-asyncapi/ (secondary, cites the vendor docs)',
      'https://prismatic.io/docs/example-payloads/surveymonkey/triggers/eventsWebhook.json (secondary)',
      'npm:n8n-nodes-base@2.41.2:dist/nodes/SurveyMonkey/SurveyMonkeyTrigger.node.js (secondary)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The secret is the client id and the client secret of the app, joined with `&`.',
      'SurveyMonkey checks the URL with HEAD. hookonce answers it.',
    ],
  },
  signature: { algorithm: 'hmac-sha1', header: 'sm-signature', encoding: 'base64' },
  event: {
    key: 'json:event_id',
    type: 'json:event_type',
    objectId: 'json:object_id',
    occurredAt: { at: 'json:event_datetime', unit: 'iso' },
  },
  handshake: [{ method: 'HEAD', signed: false }],
  acceptedStatus: 200,
})
