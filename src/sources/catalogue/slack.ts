import { provider } from '../provider.ts'

export const slack = provider<SlackEvent, SlackEvent['event'], string>({
  provider: 'slack',
  about: {
    name: 'Slack Events API',
    category: 'communication',
    confidence: 'verified',
    evidence: ['npm:@slack/bolt@5.1.0:dist/receivers/verify-request.js'],
    notes: [
      'Only for the Events API. Slash commands and interactions are forms, and expect their answer in the reply.',
      'Retries end after 6 minutes.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-slack-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'v0=' },
    content: 'v0:{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-slack-request-timestamp', unit: 's', toleranceSeconds: 300 },
  apiKeys: {
    prefixes: ['xoxb-', 'xoxp-', 'xoxa-', 'xoxe-', 'xoxe.', 'xapp-'],
    advice: 'copy the Signing Secret of the app, under Basic Information',
  },
  event: {
    key: [
      'json:event_id',
      // `app_rate_limited` is the only event without an id.
      { hash: ['json:type', 'json:team_id', 'json:api_app_id', 'json:minute_rate_limited'] },
    ],
    type: ['json:event.type', 'json:type'],
    objectId: ['json:event.channel', 'json:event.item.ts', 'json:event.ts', 'json:event.user'],
    occurredAt: { at: 'json:event_time', unit: 's' },
    object: 'json:event',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:type': 'url_verification' },
      signed: true,
      reply: { text: '{json:challenge}' },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
})

export interface SlackEvent {
  readonly type: string
  readonly event_id: string
  readonly event_time: number
  readonly team_id: string
  readonly api_app_id: string
  readonly event: { readonly type: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}
