import { provider } from '../provider.ts'

const KINDS = [
  'tweet_create_events',
  'favorite_events',
  'follow_events',
  'unfollow_events',
  'block_events',
  'unblock_events',
  'mute_events',
  'unmute_events',
  'direct_message_events',
  'direct_message_indicate_typing_events',
  'direct_message_mark_read_events',
  'tweet_delete_events',
] as const

export const x = provider({
  provider: 'x',
  about: {
    name: 'X (Twitter) Account Activity',
    category: 'social',
    confidence: 'verified',
    evidence: [
      'github.com/xdevplatform/docs:x-api/webhooks/quickstart.mdx',
      'https://developer.x.com/en/docs/x-api/enterprise/account-activity-api/guides/activity-retries',
    ],
    unverified: ['where id and date of an event are', 'the full list of kinds of events'],
    notes: [
      'A post reaches each subscribed user: the user is part of the key.',
      'When a user revokes the permission, a `user_event` is sent.',
      'The challenge (CRC) is answered with a signature over its token. Only tokens that cannot be a delivery body are signed.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-twitter-webhooks-signature',
    encoding: 'base64',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  batch: KINDS.map((kind) => `json:${kind}[]` as const),
  event: {
    key: [{ hash: ['json:for_user_id', ['item:id_str', 'item:id']] }, 'body-hash'],
    type: { present: [...KINDS.map((kind) => `json:${kind}` as const), 'json:user_event'] },
    objectId: 'json:for_user_id',
    occurredAt: { at: ['item:timestamp_ms', 'item:created_timestamp'], unit: 'ms' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:crc_token': true },
      signed: false,
      reply: {
        json: {
          response_token: {
            algorithm: 'hmac-sha256',
            of: '{query:crc_token}',
            encoding: 'base64',
            prefix: 'sha256=',
          },
        },
      },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
