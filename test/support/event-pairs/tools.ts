import type { EventPairs } from './pair.ts'

const AT = '2024-05-01T10:00:00Z'
const LATER = '2024-05-01T10:00:01Z'

const scrapfly = (job: string, resource: string, event?: string): Record<string, string> => ({
  'x-scrapfly-webhook-job-id': job,
  'x-scrapfly-webhook-resource-type': resource,
  ...(event === undefined ? {} : { 'x-scrapfly-crawl-event-name': event }),
})

/** Providers of tools for teams, developers and media. */
export const toolPairs: EventPairs = {
  airtable: { ping: { event: { webhook: { id: 'w' }, timestamp: AT }, other: { timestamp: LATER } } },
  asana: {
    'task.changed': {
      event: {
        events: [
          {
            action: 'changed',
            created_at: AT,
            resource: { gid: '1', resource_type: 'task' },
            change: { field: 'name' },
          },
        ],
      },
      other: { events: [{ change: { field: 'notes' } }] },
    },
  },
  attio: {
    'record.created': {
      event: { events: [{ event_type: 'record.created', id: { record_id: 'a' } }] },
      other: { events: [{ id: { record_id: 'b' } }] },
      headers: { 'idempotency-key': 'k' },
    },
  },
  buildkite: {
    'build.finished': {
      event: { event: 'build.finished', build: { id: 'a' } },
      other: { build: { id: 'b' } },
    },
  },
  'cal-com': {
    BOOKING_CREATED: {
      event: { triggerEvent: 'BOOKING_CREATED', createdAt: AT, payload: { uid: 'a' } },
      other: { payload: { uid: 'b' } },
    },
  },
  calendly: {
    'invitee.created': {
      event: { event: 'invitee.created', created_at: AT, payload: { uri: 'https://a.test/1' } },
      other: { payload: { uri: 'https://a.test/2' } },
    },
  },
  clickup: {
    taskUpdated: {
      event: { event: 'taskUpdated', webhook_id: 'w', task_id: 't', history_items: [{ id: '1' }] },
      other: { history_items: [{ id: '2' }] },
    },
  },
  cloudinary: {
    upload: {
      event: { notification_type: 'upload', asset_id: 'a', timestamp: AT, request_id: 'r' },
      other: { timestamp: LATER, request_id: 's' },
    },
    delete: {
      event: { notification_type: 'delete', notification_context: { request_id: 'r' }, resources: [] },
      other: { notification_context: { request_id: 's' } },
    },
  },
  contentful: {
    'Entry.publish': {
      event: { sys: { id: 'e', revision: 1, updatedAt: AT } },
      other: { sys: { revision: 2 } },
      headers: { 'x-contentful-topic': 'ContentManagement.Entry.publish' },
    },
  },
  discord: {
    ENTITLEMENT_CREATE: {
      event: { type: 1, event: { type: 'ENTITLEMENT_CREATE', timestamp: AT, data: { id: '1' } } },
      other: { event: { data: { id: '2' } } },
    },
  },
  'docker-hub': {
    push: {
      event: { repository: { repo_name: 'a/b' }, push_data: { tag: 'latest', pushed_at: 1 } },
      other: { push_data: { pushed_at: 2 } },
    },
  },
  docusign: {
    'envelope-completed': {
      event: { event: 'envelope-completed', generatedDateTime: AT, data: { envelopeId: 'a' } },
      other: { data: { envelopeId: 'b' } },
    },
  },
  dropbox: {
    'files of a user changed': {
      event: { list_folder: { accounts: ['a'] } },
      retryIsNew: 'it says only that something changed',
    },
  },
  'dropbox-sign': {
    signature_request_signed: {
      event: {
        event: { event_type: 'signature_request_signed', event_hash: 'h', event_time: '1' },
        signature_request: { signature_request_id: 'a' },
      },
      other: { signature_request: { signature_request_id: 'b' } },
    },
    'two signers of one request within one second': {
      event: {
        event: {
          event_type: 'signature_request_viewed',
          event_hash: 'h',
          event_time: '1',
          event_metadata: { related_signature_id: 's1' },
        },
        signature_request: { signature_request_id: 'a' },
      },
      other: { event: { event_metadata: { related_signature_id: 's2' } } },
    },
    'two templates within one second': {
      event: {
        event: { event_type: 'template_created', event_hash: 'h', event_time: '1' },
        template: { template_id: 'a' },
      },
      other: { template: { template_id: 'b' } },
    },
  },
  elevenlabs: {
    post_call_transcription: {
      event: { type: 'post_call_transcription', event_timestamp: 1, data: { conversation_id: 'a' } },
      other: { data: { conversation_id: 'b' } },
    },
  },
  fal: {
    'a result': {
      event: { request_id: 'a', gateway_request_id: 'a', status: 'OK', payload: {} },
      other: { request_id: 'b', gateway_request_id: 'b' },
      attemptHeaders: { 'x-fal-webhook-timestamp': '2' },
    },
  },
  figma: {
    FILE_COMMENT: {
      event: { event_type: 'FILE_COMMENT', webhook_id: 'w', timestamp: AT, file_key: 'f', comment_id: '1' },
      other: { comment_id: '2' },
      attempt: { retries: 1 },
    },
  },
  fireblocks: {
    'transaction.created': {
      event: { id: 'a', eventType: 'transaction.created' },
      other: { id: 'b' },
    },
  },
  gethook: {
    'the id of the first sender': {
      event: { any: 'body' },
      headers: { 'x-webhook-id': '1', 'x-event-type': 'order.paid' },
      otherHeaders: { 'x-webhook-id': '2' },
    },
    'the id in the body': {
      event: { event: { id: 'e1', type: 'order.paid' } },
      other: { event: { id: 'e2' } },
      attemptHeaders: { 'x-request-id': 'r2' },
    },
  },
  github: {
    push: {
      event: { ref: 'refs/heads/main', after: 'a' },
      headers: { 'x-github-event': 'push', 'x-github-delivery': '1' },
      otherHeaders: { 'x-github-delivery': '2' },
    },
  },
  gitlab: {
    'with an idempotency key': {
      event: { object_kind: 'push', after: 'a' },
      headers: { 'idempotency-key': '1', 'x-gitlab-event': 'Push Hook' },
      otherHeaders: { 'idempotency-key': '2' },
      attemptHeaders: { 'x-gitlab-webhook-uuid': 'w2' },
    },
    'a hook that sets off another': {
      event: { object_kind: 'push', after: 'a' },
      other: { after: 'b' },
      headers: { 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': 'shared by both' },
    },
  },
  grafana: {
    firing: {
      event: { groupKey: 'g', alerts: [{ status: 'firing', fingerprint: 'a', startsAt: AT }] },
      other: { alerts: [{ fingerprint: 'b' }] },
    },
  },
  honeybadger: {
    occurred: {
      event: { event: 'occurred', fault: { id: 1 }, notice: { id: 'a' } },
      other: { notice: { id: 'b' } },
    },
  },
  hubspot: {
    'contact.creation': {
      event: [{ eventId: 1, subscriptionId: 2, occurredAt: 3, subscriptionType: 'contact.creation' }],
      other: [{ occurredAt: 4 }],
      attempt: [{ attemptNumber: 1 }],
    },
    'a workflow': {
      event: { portalId: 1, objectType: 'CONTACT', objectId: 7, properties: { a: { timestamp: 1 } } },
      other: { properties: { a: { timestamp: 2 } } },
      attemptHeaders: { 'x-hubspot-request-timestamp': '2' },
    },
    'an action of a workflow': {
      event: { callbackId: 'ap-1', object: { objectId: 7 } },
      other: { callbackId: 'ap-2' },
    },
  },
  huggingface: {
    'repo.update': {
      event: { event: { action: 'update', scope: 'repo' }, repo: { id: 'r', headSha: 'a' } },
      other: { repo: { headSha: 'b' } },
    },
  },
  hygraph: {
    publish: {
      event: { operation: 'publish', data: { id: 'a', updatedAt: AT } },
      other: { data: { updatedAt: LATER } },
    },
  },
  jira: {
    'jira:issue_updated': {
      event: { webhookEvent: 'jira:issue_updated', timestamp: 1, issue: { id: '1' } },
      other: { timestamp: 2 },
    },
  },
  linkedin: {
    ORGANIZATION_SOCIAL_ACTION_NOTIFICATIONS: {
      event: { type: 'ORGANIZATION_SOCIAL_ACTION_NOTIFICATIONS', notificationId: 1 },
      other: { notificationId: 2 },
    },
    'without an id': { event: { type: 'LEAD_ACTION', occurredAt: 1 }, other: { occurredAt: 2 } },
  },
  netlify: {
    ready: { event: { id: 'd', state: 'ready', updated_at: AT }, other: { updated_at: LATER } },
  },
  'npm-hooks': {
    'package:publish': {
      event: { event: 'package:publish', name: 'a', version: '1.0.0', time: 1 },
      other: { version: '1.0.1' },
    },
  },
  onfido: {
    'check.completed': {
      event: {
        payload: {
          resource_type: 'check',
          action: 'check.completed',
          object: { id: 'a', completed_at_iso8601: AT },
        },
      },
      other: { payload: { object: { id: 'b' } } },
    },
  },
  opsgenie: {
    Create: {
      event: { action: 'Create', alert: { alertId: 'a', createdAt: 1 } },
      other: { alert: { alertId: 'b' } },
    },
  },
  patreon: {
    'members:create': {
      event: { data: { id: 'a' } },
      other: { data: { id: 'b' } },
      headers: { 'x-patreon-event': 'members:create' },
    },
  },
  pusher: {
    channel_occupied: {
      event: { time_ms: 1, events: [{ name: 'channel_occupied', channel: 'a' }] },
      other: { events: [{ channel: 'b' }] },
    },
  },
  scrapfly: {
    crawler_url_visited: {
      event: { event: 'crawler_url_visited', payload: { crawler_uuid: 'c', url: 'https://a.test/1' } },
      other: { payload: { url: 'https://a.test/2' } },
      headers: scrapfly('c', 'crawler', 'crawler_url_visited'),
    },
    'crawler_started, then crawler_finished': {
      event: { event: 'crawler_started', payload: { crawler_uuid: 'c', state: {} } },
      headers: scrapfly('c', 'crawler', 'crawler_started'),
      otherHeaders: scrapfly('c', 'crawler', 'crawler_finished'),
    },
    scrape: {
      event: { result: {}, context: { job: { uuid: 'a' }, webhook: { consecutive_failed_count: 0 } } },
      headers: scrapfly('a', 'scrape'),
      otherHeaders: scrapfly('b', 'scrape'),
      attempt: { context: { webhook: { consecutive_failed_count: 1 } } },
    },
  },
  statuspage: {
    incident: {
      event: { incident: { id: 'i', incident_updates: [{ id: 'a' }] } },
      other: { incident: { incident_updates: [{ id: 'b' }] } },
    },
  },
  strapi: {
    'entry.update': {
      event: { event: 'entry.update', createdAt: AT, model: 'm', entry: { id: 1 } },
      other: { entry: { id: 2 } },
    },
  },
  strava: {
    'activity.create': {
      event: { object_type: 'activity', object_id: 1, aspect_type: 'create', event_time: 1 },
      other: { object_id: 2 },
    },
  },
  'supabase-db-webhooks': {
    INSERT: { event: { type: 'INSERT', table: 't', record: { id: 1 } }, other: { record: { id: 2 } } },
  },
  tiktok: {
    'post.publish.complete': {
      event: { event: 'post.publish.complete', create_time: 1, content: 'a' },
      other: { content: 'b' },
    },
  },
  webflow: {
    form_submission: {
      event: { triggerType: 'form_submission', payload: { id: 'a' } },
      other: { payload: { id: 'b' } },
    },
  },
  youtube: {
    'a video': {
      event: { feed: { entry: { 'yt:videoId': 'a', updated: AT } } },
      other: { feed: { entry: { updated: LATER } } },
    },
  },
  zendesk: {
    'a ticket': {
      event: { type: 'zen:event-type:ticket.created', id: 'a', time: AT },
      other: { id: 'b' },
      attemptHeaders: { 'x-zendesk-webhook-invocation-id': 'i2' },
    },
  },
}
