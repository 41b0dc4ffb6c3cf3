import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import { recordLook } from '../../operate/audit.ts'
import {
  listStuckLanes,
  messageById,
  messageStates,
  pageMessages,
  replayFailedMessages,
  replayMessage,
  retryLane,
} from '../../operate/outbox.ts'
import { reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { count, listFields, pageOf, tenantField, time, topicFilter, why } from './schemas.ts'

const tag = 'outbox'

const message = z.object({
  id: z.string(),
  createdAt: time,
  finishedAt: time.nullable(),
  tenant: z.string(),
  topic: z.string(),
  key: z.string().nullable(),
  receiptId: z.string(),
  state: z.enum(['waiting', 'retrying', 'published', 'failed']),
  attempts: z.int(),
  reason: z.string().nullable(),
  dueAt: time.nullable(),
})

const list = route({
  method: 'GET',
  path: '/outbox',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List messages of the outbox',
  description:
    'Finished messages by the time they finished, the latest first. Waiting ones lane by lane, in the order in which they will be published.',
  query: z.strictObject({
    ...listFields,
    ...tenantField,
    state: z.enum(messageStates).default('failed').meta({ description: 'Only messages in this state.' }),
    topic: topicFilter,
  }),
  response: pageOf(message),
  async answer({ ledger, caller }, { query: { limit, cursor, ...given } }) {
    const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
    const listQuery = { list: 'outbox', filter }
    const page = await pageMessages(ledger, { ...filter, limit, ...readCursor(cursor, listQuery) })
    return pageWithCursors({ ...page, data: page.messages }, listQuery)
  },
})

const lanes = route({
  method: 'GET',
  path: '/outbox/lanes',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List lanes that are stuck behind a message, the oldest first',
  description:
    'A lane has the messages of one tenant, topic and key. Publishing the first message failed and is retried; the other messages wait for it. Lists up to 500 lanes.',
  query: z.strictObject({ ...listFields, ...tenantField, topic: topicFilter }),
  response: pageOf(
    z.object({
      tenant: z.string(),
      topic: z.string(),
      key: z.string().nullable(),
      messageId: z.string().meta({ description: 'The message that blocks the lane.' }),
      receiptId: z.string(),
      attempts: z.int(),
      crashes: z.int().meta({ description: 'Relays that died while publishing it.' }),
      reason: z.string().nullable(),
      dueAt: time.meta({ description: 'When it is tried again.' }),
      isPublishing: z.boolean().meta({ description: 'Whether a relay is trying it.' }),
      oldestAt: time,
      waiting: count.meta({
        description: 'Messages in the lane, including the first one; counted up to 1,000.',
      }),
    }),
  ),
  async answer({ ledger, caller }, { query: { limit, cursor, ...given } }) {
    const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
    const listQuery = { list: 'lanes', filter }
    const items = await listStuckLanes(ledger, filter)
    const keyOf = ({ messageId }: (typeof items)[number]): string => messageId
    return pageWithCursors(sliceOf({ items, keyOf, limit }, readCursor(cursor, listQuery)), listQuery)
  },
})

function requireId(id: string): void {
  if (!/^[0-9a-f-]{1,36}$/i.test(id))
    throw new HookonceError('MESSAGE_UNKNOWN', `"${id}" is not a message id`)
}

const show = route({
  method: 'GET',
  path: '/outbox/{id}',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show one message',
  response: message.extend({
    headers: z.record(z.string(), z.string()).readonly().nullable(),
    payloadText: z
      .string()
      .nullable()
      .meta({ description: 'The payload as JSON text, with every digit. Null: not for this token.' }),
  }),
  async answer({ ledger, caller, gateway }, { params: { id } }) {
    requireId(id)
    const { payload, headers, ...found } = await messageById(ledger, id, caller)
    if (!caller.bodies) return { ...found, headers: null, payloadText: null }
    if (gateway.auditBodies())
      await recordLook(
        ledger,
        { ...found, action: 'read-body' },
        reasonOf(caller, 'read the payload of a message'),
      )
    return { ...found, headers, payloadText: payload }
  },
})

const replay = route({
  method: 'POST',
  path: '/outbox/{id}/replay',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Publish a finished message again, under its old id',
  body: z.strictObject({ why }),
  response: z.object({
    messageId: z.string(),
    replayed: z.boolean().meta({ description: 'False: it is neither published nor failed yet.' }),
  }),
  async answer({ ledger, caller }, { params: { id }, body }) {
    requireId(id)
    const found = await messageById(ledger, id, caller)
    return replayMessage(ledger, found.id, reasonOf(caller, body.why))
  },
})

const retry = route({
  method: 'POST',
  path: '/outbox/{id}/retry',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Try the lane of a waiting message now',
  description: 'The order of the lane and its counted attempts do not change.',
  body: z.strictObject({ why }),
  response: z.object({
    messageId: z.string(),
    retried: z
      .boolean()
      .meta({ description: 'False: a relay is already trying it, it is due, or it is not waiting.' }),
  }),
  async answer({ ledger, caller }, { params: { id }, body }) {
    requireId(id)
    const found = await messageById(ledger, id, caller)
    return retryLane(ledger, found.id, reasonOf(caller, body.why))
  },
})

/** Limited, because a person waits for the answer. */
const MAX_REPLAYED = 1_000

const replayFailed = route({
  method: 'POST',
  path: '/outbox/replay',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Publish the failed messages again, the oldest first',
  description: `At most ${MAX_REPLAYED} per request. Each keeps its id, and waits at the end of its lane.`,
  body: z.strictObject({ topic: topicFilter, ...tenantField, why }),
  response: z.object({
    replayed: count,
    isComplete: z.boolean().meta({ description: 'False: there may be more. Send the request again.' }),
  }),
  async answer({ ledger, caller }, { body: { topic, tenant, why } }) {
    const filter = { topic, tenant: tenantFor(caller, tenant), limit: MAX_REPLAYED }
    const replayed = await replayFailedMessages(ledger, filter, reasonOf(caller, why))
    return { replayed, isComplete: replayed < MAX_REPLAYED }
  },
})

export const outboxRoutes = [list, lanes, show, replay, retry, replayFailed] as const
