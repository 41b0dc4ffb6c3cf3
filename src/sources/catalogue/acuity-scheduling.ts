import { provider } from '../provider.ts'

export const acuityScheduling = provider({
  provider: 'acuity-scheduling',
  about: {
    name: 'Acuity Scheduling',
    category: 'scheduling',
    confidence: 'verified',
    evidence: [
      'https://developers.acuityscheduling.com/docs/webhooks',
      'npm:n8n-nodes-base@2.41.2:dist/nodes/AcuityScheduling/AcuitySchedulingTriggerHelpers.js (secondary)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The secret is the API key of the main administrator, or of your account for webhooks made through the API.',
      'A delivery names only action and appointment. A second change has the same body as a retry, so each delivery of it is an event, including retries.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-acuity-signature', encoding: 'base64' },
  body: 'form',
  event: {
    key: [
      {
        when: { 'form:action': ['scheduled', 'appointment.scheduled', 'order.completed'] },
        key: { hash: ['form:action', 'form:id'] },
      },
      'each-delivery',
    ],
    type: 'form:action',
    objectId: 'form:id',
  },
  acceptedStatus: 200,
})
