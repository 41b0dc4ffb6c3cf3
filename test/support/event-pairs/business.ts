import type { EventPairs } from './pair.ts'

const AT = '2024-05-01T10:00:00Z'
const LATER = '2024-05-01T10:00:01Z'

/** Providers of business software and devices: sales, support, scheduling, legal, vehicles. */
export const businessPairs: EventPairs = {
  'acuity-scheduling': {
    scheduled: {
      event: { action: 'scheduled', id: '1', calendarID: '2', appointmentTypeID: '3' },
      other: { id: '2' },
    },
    'order.completed': { event: { action: 'order.completed', id: '1' }, other: { id: '2' } },
    changed: {
      event: { action: 'changed', id: '1', calendarID: '2', appointmentTypeID: '3' },
      retryIsNew: 'two changes have the same body',
    },
  },
  aircall: {
    'call.ended': {
      event: { resource: 'call', event: 'call.ended', timestamp: 1, token: 't', data: { id: 1 } },
      other: { data: { id: 2 } },
    },
    'user.closed, first without and then with a substatus': {
      event: { resource: 'user', event: 'user.closed', timestamp: 1, token: 't', data: { id: 1 } },
      other: { data: { substatus: 'out_for_lunch' } },
    },
  },
  ashby: {
    applicationUpdate: {
      event: { action: 'applicationUpdate', data: { application: { id: 'a', updatedAt: AT } } },
      other: { data: { application: { updatedAt: LATER } } },
    },
    'candidateHire, which also fires applicationUpdate': {
      event: { action: 'candidateHire', data: { application: { id: 'a', updatedAt: AT } } },
      other: { action: 'applicationUpdate' },
    },
  },
  'bunny-stream': {
    'a resolution is finished': {
      event: { VideoLibraryId: 1, VideoGuid: 'v', Status: 4 },
      retryIsNew: 'it is sent for each resolution, with the same body',
    },
  },
  clio: {
    'updated, with the etag': {
      event: { data: { id: 152, etag: '"a"' }, meta: { event: 'updated', webhook_id: 1 } },
      other: { data: { etag: '"b"' } },
    },
    'created, without the etag': {
      event: { data: { id: 152 }, meta: { event: 'created', webhook_id: 1 } },
      other: { data: { id: 153 } },
    },
    'updated, without the etag': {
      event: { data: { id: 152 }, meta: { event: 'updated', webhook_id: 1 } },
      retryIsNew: 'two updates have the same body',
    },
  },
  courier: {
    'message:updated': {
      event: { type: 'message:updated', data: { id: 'm', status: 'SENT' } },
      other: { data: { status: 'DELIVERED' } },
    },
  },
  cronofy: {
    change: {
      event: { notification: { type: 'change', changes_since: AT }, channel: { channel_id: 'c' } },
      retryIsNew: 'it says only that something changed',
    },
  },
  enode: {
    'user:vehicle:updated': {
      event: [{ event: 'user:vehicle:updated', createdAt: AT, version: '1', vehicle: { id: 'v' } }],
      other: [{ createdAt: LATER }],
      headers: { 'x-enode-delivery': '1' },
      attemptHeaders: { 'x-enode-delivery': '2' },
    },
  },
  'exact-online': {
    'Accounts.Update': {
      event: { Content: { Topic: 'Accounts', Action: 'Update', Key: 'k', Division: 1, EventCreatedOn: AT } },
      other: { Content: { EventCreatedOn: LATER } },
    },
    'Accounts.Create, without a date': {
      event: { Content: { Topic: 'Accounts', Action: 'Create', Key: 'k', Division: 1 } },
      other: { Content: { Key: 'l' } },
    },
    'Accounts.Update, without a date': {
      event: { Content: { Topic: 'Accounts', Action: 'Update', Key: 'k', Division: 1 } },
      retryIsNew: 'two updates have the same body',
    },
  },
  fireflies: {
    'meeting.summarized': {
      event: { event: 'meeting.summarized', meeting_id: 'm', timestamp: 1 },
      other: { timestamp: 2 },
      attemptHeaders: { 'x-webhook-delivery-id': '2' },
    },
  },
  helpscout: {
    'convo.tags': {
      event: { id: 1, tags: ['a'] },
      other: { tags: ['b'] },
      headers: { 'x-helpscout-event': 'convo.tags' },
    },
    'two events of one change': {
      event: { id: 1, status: 'active' },
      headers: { 'x-helpscout-event': 'convo.created' },
      otherHeaders: { 'x-helpscout-event': 'convo.assigned' },
    },
  },
  mailersend: {
    'activity.opened': {
      event: { type: 'activity.opened', created_at: AT, data: { id: 'a', message_id: 'm' } },
      other: { data: { id: 'b' } },
    },
    'maintenance.start': {
      event: { type: 'maintenance.start', created_at: AT, data: {} },
      other: { created_at: LATER },
    },
  },
  meraki: {
    motion_alert: {
      event: {
        alertTypeId: 'motion_alert',
        networkId: 'n',
        deviceSerial: 'd',
        occurredAt: AT,
        sentAt: AT,
        alertData: { timestamp: 1 },
      },
      other: { alertData: { timestamp: 2 } },
      attempt: { sentAt: LATER },
    },
    'without data': {
      event: { alertTypeId: 'settings_changed', occurredAt: AT },
      other: { occurredAt: LATER },
    },
  },
  oura: {
    'sleep.update': {
      event: { event_type: 'update', data_type: 'sleep', object_id: 'o', event_time: AT, user_id: 'u' },
      other: { event_time: LATER },
    },
  },
  pipedrive: {
    'change.deal': {
      event: {
        meta: {
          action: 'change',
          entity: 'deal',
          entity_id: '8',
          id: 'i',
          correlation_id: 'c',
          webhook_id: 'w',
          version: '2.0',
          timestamp: AT,
          attempt: 1,
        },
        data: { id: 8 },
      },
      other: { meta: { correlation_id: 'd', timestamp: LATER } },
      attempt: { meta: { attempt: 2, id: 'j' } },
    },
    'updated.deal (v1)': {
      event: {
        event: 'updated.deal',
        meta: { action: 'updated', object: 'deal', id: 8, webhook_id: 'w', timestamp_micro: 1 },
        retry: 0,
      },
      other: { meta: { timestamp_micro: 2 } },
      attempt: { retry: 1 },
    },
  },
  pylon: {
    'issue.updated': {
      event: { event_type: 'issue.updated', data: { id: 'i', state: 'new' } },
      other: { data: { state: 'closed' } },
      headers: { 'pylon-webhook-timestamp': '1' },
      attemptHeaders: { 'pylon-webhook-timestamp': '2' },
    },
  },
  sharepoint: {
    'a list changed': {
      event: { value: [{ subscriptionId: 's', clientState: 'c', resource: 'l' }] },
      retryIsNew: 'it says only that something changed',
    },
  },
  webex: {
    'messages.created': {
      event: { id: 'w', resource: 'messages', event: 'created', data: { id: 'm' } },
      other: { data: { id: 'n' } },
    },
  },
}
