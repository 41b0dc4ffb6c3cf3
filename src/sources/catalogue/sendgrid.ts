import { provider } from '../provider.ts'

export const sendgrid = provider<readonly SendGridEvent[], SendGridEvent, string>({
  provider: 'sendgrid',
  about: {
    name: 'Twilio SendGrid Event Webhook',
    category: 'email',
    confidence: 'verified',
    evidence: [
      'npm:@sendgrid/eventwebhook@8.0.0:src/eventwebhook.js',
      'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event',
    ],
    unverified: ['the retry window of 24 hours; hookonce assumes a week'],
    notes: [
      'The secret is the public key that Mail Settings shows.',
      'The line break at the end of the body is signed: a proxy that trims it breaks every signature.',
      'The SDK does not check the date. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
    ],
  },
  signature: {
    algorithm: 'ecdsa-p256-sha256',
    header: 'x-twilio-email-event-webhook-signature',
    encoding: 'base64',
    content: '{timestamp}{body}',
  },
  timestamp: { at: 'header:x-twilio-email-event-webhook-timestamp', unit: 's' },
  batch: 'json:[]',
  event: {
    key: 'item:sg_event_id',
    type: 'item:event',
    objectId: 'item:sg_message_id',
    occurredAt: { at: 'item:timestamp', unit: 's' },
  },
  retryWindowHours: 7 * 24,
})

export interface SendGridEvent {
  readonly sg_event_id: string
  readonly sg_message_id: string
  readonly event: string
  readonly email: string
  readonly timestamp: number
  readonly [field: string]: unknown
}
