import { provider } from '../provider.ts'

const KINDS = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'business_connection',
  'business_message',
  'edited_business_message',
  'deleted_business_messages',
  'message_reaction',
  'message_reaction_count',
  'inline_query',
  'chosen_inline_result',
  'callback_query',
  'shipping_query',
  'pre_checkout_query',
  'purchased_paid_media',
  'poll',
  'poll_answer',
  'my_chat_member',
  'chat_member',
  'chat_join_request',
  'chat_boost',
  'removed_chat_boost',
] as const

export const telegram = provider({
  provider: 'telegram',
  about: {
    name: 'Telegram Bot API',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'github.com/tdlib/telegram-bot-api:telegram-bot-api/WebhookActor.cpp',
      'github.com/tdlib/telegram-bot-api:telegram-bot-api/WebhookActor.h',
    ],
    unverified: [
      'which secrets are allowed: 1 to 256 letters, digits, `_` and `-`',
      'the full list of kinds of updates: a new one has the type `unknown`',
    ],
    notes: [
      'Nothing is signed. The secret is the `secret_token` given to `setWebhook`.',
      'The type is the kind of the update: `message`, `callback_query`, …',
      'Updates that are not accepted expire after a day.',
    ],
  },
  signature: { algorithm: 'token', header: 'x-telegram-bot-api-secret-token' },
  event: {
    key: 'json:update_id',
    type: { present: KINDS.map((kind) => `json:${kind}` as const) },
    objectId: ['json:message.message_id', 'json:callback_query.id', 'json:message.chat.id'],
    occurredAt: { at: 'json:message.date', unit: 's' },
  },
  retryWindowHours: 48,
  // Telegram may interpret the body of the answer as a Bot API call.
  acceptedBody: '',
})
