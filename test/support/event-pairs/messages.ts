import type { EventPairs } from './pair.ts'

const AT = '2024-05-01T10:00:00Z'
const LATER = '2024-05-01T10:00:01Z'

const graph = { subscriptionId: 's', subscriptionExpirationDateTime: AT, clientState: 'c', tenantId: 't' }
const vonageCall = { uuid: 'u', conversation_uuid: 'CON-1', from: '1', to: '2', timestamp: AT }
const retellCall = { call_id: 'c', call_status: 'ongoing', start_timestamp: 1_714_557_600_000 }
const zoomMeeting = { id: '1', uuid: 'u==', host_id: 'h' }
const page = (entry: object): object => ({ object: 'page', entry: [{ id: 'p', time: 1, ...entry }] })
const whatsapp = (value: object): object => ({
  object: 'whatsapp_business_account',
  entry: [{ id: 'w', changes: [{ field: 'messages', value }] }],
})

/** Providers of messages, calls and mail. */
export const messagePairs: EventPairs = {
  attentive: {
    'email.subscribed': {
      event: { type: 'email.subscribed', timestamp: 1, subscriber: { external_id: 1 } },
      other: { subscriber: { external_id: 2 } },
    },
  },
  brevo: {
    'two clicks within one second': {
      event: { event: 'click', email: 'a@b.c', 'message-id': '<m>', ts_event: 1, link: 'https://a.test' },
      other: { link: 'https://b.test' },
    },
    'one message to two recipients': {
      event: { event: 'delivered', email: 'a@b.c', 'message-id': '<m>', ts_event: 1 },
      other: { email: 'd@b.c' },
    },
    sms: { event: { status: 'ok', msg_status: 'sent', messageId: 1, to: '1' }, other: { messageId: 2 } },
  },
  mailchannels: {
    delivered: {
      event: [{ event: 'delivered', request_id: 'r', email: 'a@b.c', timestamp: 1 }],
      other: [{ email: 'd@b.c' }],
    },
  },
  mailchimp: {
    subscribe: {
      event: { type: 'subscribe', fired_at: AT, 'data[id]': '1' },
      other: { 'data[id]': '2' },
    },
  },
  mandrill: {
    'two clicks of one message': {
      event: [{ event: 'click', _id: 'm', ts: 1, url: 'https://a.test', msg: { _id: 'm' } }],
      other: [{ url: 'https://b.test' }],
    },
    'a message sent, then opened': {
      event: [{ event: 'send', _id: 'm', ts: 1, msg: { _id: 'm', state: 'sent' } }],
      other: [{ event: 'open', ts: 2 }],
      attempt: [{ msg: { state: 'bounced' } }],
    },
    'inbound mail': {
      event: [{ event: 'inbound', ts: 1, msg: { raw_msg: 'a' } }],
      other: [{ msg: { raw_msg: 'b' } }],
    },
    'the deny list': {
      event: [{ type: 'blacklist', action: 'add', ts: 1, reject: { email: 'a@b.c' } }],
      other: [{ reject: { email: 'd@b.c' } }],
    },
  },
  messagebird: {
    'delivery report': {
      event: { id: 'm', status: 'sent', statusDatetime: AT },
      other: { status: 'delivered' },
    },
  },
  meta: {
    'a message, then taken back': {
      event: page({ messaging: [{ sender: { id: '1' }, message: { mid: 'm', text: 'x' } }] }),
      other: { entry: [{ messaging: [{ message: { mid: 'm', is_deleted: true } }] }] },
      attempt: { entry: [{ time: 2 }] },
    },
    'a message on standby': {
      event: page({ standby: [{ sender: { id: '1' }, message: { mid: 'm' } }] }),
      other: { entry: [{ standby: [{ message: { mid: 'n' } }] }] },
      attempt: { entry: [{ time: 2 }] },
    },
    'messages read': {
      event: page({ messaging: [{ sender: { id: '1' }, timestamp: 1, read: { watermark: 1 } }] }),
      other: { entry: [{ messaging: [{ timestamp: 2, read: { watermark: 2 } }] }] },
      attempt: { entry: [{ time: 2 }] },
    },
    'a change': {
      event: page({ changes: [{ field: 'feed', value: { post_id: 'a', created_time: 1 } }] }),
      other: { entry: [{ changes: [{ value: { post_id: 'b' } }] }] },
      attempt: { entry: [{ time: 2 }] },
    },
    'a change of another page': {
      event: page({ changes: [{ field: 'feed', value: { post_id: 'a' } }] }),
      other: { entry: [{ id: 'q' }] },
    },
    'a change of Instagram': {
      event: { object: 'instagram', entry: [{ id: 'i', time: 1, field: 'comments', value: { id: 'c' } }] },
      other: { entry: [{ value: { id: 'd' } }] },
      attempt: { entry: [{ time: 2 }] },
    },
    'names of changed fields': {
      event: { object: 'user', entry: [{ id: 'u', uid: 'u', time: 1, changed_fields: ['feed'] }] },
      other: { entry: [{ time: 60 }] },
    },
  },
  'microsoft-graph': {
    'with an id': {
      event: { value: [{ ...graph, id: 'n1', changeType: 'updated', resource: 'r' }] },
      other: { value: [{ id: 'n2' }] },
      attempt: { value: [{ subscriptionExpirationDateTime: LATER }] },
    },
    'with a version of the resource': {
      event: {
        value: [{ ...graph, changeType: 'updated', resource: 'r', resourceData: { '@odata.etag': 'W/"1"' } }],
      },
      other: { value: [{ resourceData: { '@odata.etag': 'W/"2"' } }] },
      attempt: { value: [{ subscriptionExpirationDateTime: LATER }] },
    },
    'a drive that changed': {
      event: { value: [{ ...graph, changeType: 'updated', resource: 'me/drive/root' }] },
      retryIsNew: 'it says only that something changed',
    },
    'missed notifications': {
      event: { value: [{ ...graph, lifecycleEvent: 'missed', resource: 'r' }] },
      retryIsNew: 'it says only that something was missed',
    },
  },
  postmark: {
    'two clicks within one second': {
      event: { RecordType: 'Click', MessageID: 'm', Recipient: 'a@b.c', ReceivedAt: AT, OriginalLink: 'a' },
      other: { OriginalLink: 'b' },
    },
    'two opens within one second': {
      event: { RecordType: 'Open', MessageID: 'm', Recipient: 'a@b.c', ReceivedAt: AT, UserAgent: 'x' },
      other: { UserAgent: 'y' },
    },
    bounce: { event: { RecordType: 'Bounce', ID: 1, MessageID: 'm', BouncedAt: AT }, other: { ID: 2 } },
    delivery: {
      event: { RecordType: 'Delivery', MessageID: 'm', Recipient: 'a@b.c', DeliveredAt: AT },
      other: { Recipient: 'd@b.c' },
    },
    inbound: {
      event: { MessageID: 'm', OriginalRecipient: 'x@inbound.test', Date: AT, Subject: 's' },
      other: { MessageID: 'n' },
    },
  },
  retell: {
    'the transcript goes on': {
      event: {
        event: 'transcript_updated',
        call: retellCall,
        transcript_with_tool_calls: [{ role: 'agent', content: 'a' }],
      },
      other: { transcript_with_tool_calls: [{ content: 'a b' }] },
    },
    'a call ended': { event: { event: 'call_ended', call: retellCall }, other: { call: { call_id: 'd' } } },
    'a chat ended': {
      event: { event: 'chat_ended', chat: { chat_id: 'c' } },
      other: { chat: { chat_id: 'd' } },
    },
  },
  slack: {
    'an event': {
      event: { type: 'event_callback', event_id: 'Ev1', event: { type: 'message' } },
      other: { event_id: 'Ev2' },
      attemptHeaders: { 'x-slack-retry-num': '1' },
    },
    app_rate_limited: {
      event: { type: 'app_rate_limited', team_id: 'T', api_app_id: 'A', minute_rate_limited: 60, token: 't' },
      other: { minute_rate_limited: 120 },
    },
  },
  twilio: {
    'a message on its way': {
      event: { MessageSid: 'SM1', MessageStatus: 'sent' },
      other: { MessageStatus: 'delivered' },
    },
    'two inputs of one call': {
      event: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
      other: { Digits: '2' },
    },
    'two events of one message in a conversation': {
      event: { MessageSid: 'IM1', EventType: 'onMessageAdded' },
      other: { EventType: 'onMessageUpdated' },
    },
    'Event Streams': {
      event: [{ specversion: '1.0', id: 'EZ1', source: '/v1', type: 'com.twilio.messaging.message.sent' }],
      other: [{ id: 'EZ2' }],
      headers: { 'i-twilio-idempotency-token': 'of the batch' },
    },
    'Verify Push': {
      event: { uid: 'e1', type: 'challenge.approved', challenge_sid: 'YC1' },
      other: { uid: 'e2' },
    },
  },
  vonage: {
    'two inputs of one call': {
      event: { ...vonageCall, dtmf: { digits: '1', timed_out: false } },
      other: { timestamp: LATER, dtmf: { digits: '2' } },
    },
    'two inputs within one second': {
      event: { ...vonageCall, dtmf: { digits: '1' } },
      other: { dtmf: { digits: '2' } },
    },
    'a call': { event: { ...vonageCall, status: 'ringing' }, other: { status: 'answered' } },
    'a message': { event: { message_uuid: 'm', status: 'submitted' }, other: { status: 'delivered' } },
  },
  whatsapp: {
    message: {
      event: whatsapp({ messages: [{ id: 'wamid.1', timestamp: '1' }] }),
      other: { entry: [{ changes: [{ value: { messages: [{ id: 'wamid.2' }] } }] }] },
    },
    status: {
      event: whatsapp({ statuses: [{ id: 'wamid.1', status: 'sent', timestamp: '1' }] }),
      other: { entry: [{ changes: [{ value: { statuses: [{ status: 'read' }] } }] }] },
    },
    'change of a template': {
      event: whatsapp({ event: 'APPROVED', message_template_id: 1 }),
      other: { entry: [{ changes: [{ value: { message_template_id: 2 } }] }] },
    },
  },
  x: {
    'one post for two users': {
      event: { for_user_id: '1', tweet_create_events: [{ id_str: '9', id: 9 }] },
      other: { for_user_id: '2' },
    },
    'two users followed': {
      event: { for_user_id: '1', follow_events: [{ created_timestamp: '1', target: { id: '2' } }] },
      other: { follow_events: [{ target: { id: '3' } }] },
    },
    'a user who leaves': {
      event: { user_event: { revoke: { date_time: AT, source: { user_id: '1' } } } },
      other: { user_event: { revoke: { source: { user_id: '2' } } } },
    },
  },
  zoom: {
    'two participants within one millisecond': {
      event: {
        event: 'meeting.participant_joined',
        event_ts: 1,
        payload: { account_id: 'a', object: { ...zoomMeeting, participant: { user_id: '1' } } },
      },
      other: { payload: { object: { participant: { user_id: '2' } } } },
    },
    'a recording, with a token of each attempt': {
      event: {
        event: 'recording.completed',
        event_ts: 1,
        download_token: 'a',
        payload: { object: zoomMeeting },
      },
      other: { event_ts: 2 },
      attempt: { download_token: 'b' },
    },
    'a phone call': {
      event: { event: 'phone.caller_ringing', event_ts: 1, payload: { object: { call_id: '1' } } },
      other: { payload: { object: { call_id: '2' } } },
    },
    'an app that is removed': {
      event: { event: 'app_deauthorized', event_ts: 1, payload: { account_id: 'a', user_id: 'u' } },
      other: { payload: { user_id: 'v' } },
    },
    'a contact centre': {
      event: {
        event: 'contact_center.engagement_started',
        event_ts: 1,
        payload: { object: { engagement_id: 'e' } },
      },
      other: { payload: { object: { engagement_id: 'f' } } },
    },
  },
}
