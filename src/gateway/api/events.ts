import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import { jobStates } from '../../model/job-state.ts'
import { announceWork } from '../../operate/announce.ts'
import { eventAsTest } from '../../operate/as-test/event-as-test.ts'
import { recordLook } from '../../operate/audit.ts'
import { listEvents } from '../../operate/events.ts'
import { type EventChain, readBody, readEvent } from '../../operate/receipt.ts'
import { planReplayFresh, planReplayOne, replayOne } from '../../operate/replay.ts'
import { type Caller, reasonOf, requireBodies, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor } from './cursor.ts'
import { eventChain } from './event-chain.ts'
import { type ApiContext, rawRoute, route } from './route.ts'
import {
  count,
  listFields,
  moment,
  name,
  pageOf,
  sourceFilter,
  subscriberFilter,
  tenantField,
  text,
  time,
  typeFilter,
  why,
} from './schemas.ts'

const tag = 'events'

const listedEvent = z.object({
  id: z.string().meta({ description: 'The id of the receipt.' }),
  receivedAt: time,
  tenant: z.string(),
  source: z.string(),
  eventKey: z.string(),
  eventType: z.string(),
  objectId: z.string().nullable(),
  duplicates: count.meta({ description: 'Further deliveries of this event.' }),
  mismatches: count.meta({ description: 'Further deliveries with another body.' }),
  imported: z.boolean().meta({ description: 'Whether another system had processed it before.' }),
  states: z.array(z.string()).readonly().meta({
    description: 'The states of its jobs, one per subscriber. A processed job may be `stale` or `moved`.',
  }),
  attempts: z.int().nullable(),
})

const list = route({
  method: 'GET',
  path: '/events',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List events, newest first',
  description:
    'Events in the states `failed` and `attention` are listed by the time of their failure. A page reads a bounded part of the history: with a filter that few events match it may be empty although `next` is not null.',
  query: z.strictObject({
    ...listFields,
    ...tenantField,
    source: sourceFilter,
    subscriber: subscriberFilter,
    type: typeFilter,
    state: z.enum(jobStates).optional().meta({ description: 'Events with a job in this state.' }),
    key: text.optional().meta({ description: 'The provider’s key of the event.' }),
    object: text.optional().meta({ description: 'The id of the object that the event is about.' }),
    error: text
      .optional()
      .meta({ description: 'A part of the error, or the fingerprint of a group of failures.' }),
    q: text
      .optional()
      .meta({ description: 'A key, the beginning of an id, or a part of a key, type or object.' }),
    since: moment.optional(),
    until: moment.optional(),
  }),
  response: pageOf(listedEvent),
  async answer({ ledger, caller }, { query }) {
    const { limit, cursor, ...given } = query
    const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
    // A relative time changes between two pages, so it is not part of a cursor's checksum.
    const { since: _, until: __, ...fixed } = filter
    const listQuery = { list: 'events', filter: fixed }
    const { events, next, previous } = await listEvents(ledger, {
      ...filter,
      limit,
      ...readCursor(cursor, listQuery),
    })
    return pageWithCursors({ data: events, next, previous }, listQuery)
  },
})

const show = route({
  method: 'GET',
  path: '/events/{id}',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show the whole chain of one event',
  description:
    'Deliveries, jobs, attempts, steps, effects, messages and decisions. The body has its own route. Headers and results of effects may hold personal data, so they are shown only on request.',
  query: z.strictObject({
    payloads: z.boolean().default(false).meta({
      description:
        'Also shows the headers and the results of effects. Needs a token that may read bodies, and is in the audit.',
    }),
  }),
  response: eventChain,
  async answer(context, { params, query: { payloads } }) {
    if (payloads) requireBodies(context.caller)
    const { receipt, effects, ...rest } = await visibleEvent(context, params.id)
    const { body, bodyExpired: _, headers, unreadable, ...shown } = receipt
    if (payloads && (headers !== null || effects.some(({ resultText }) => resultText !== null)))
      await recordHeaders(context, receipt)
    return {
      receipt: {
        ...shown,
        bodyBytes: body?.length ?? null,
        headers: payloads ? headers : null,
        unreadable: unreadable && { code: unreadable.code, message: unreadable.message },
      },
      effects: effects.map((effect) => ({ ...effect, resultText: payloads ? effect.resultText : null })),
      ...rest,
    }
  },
})

async function recordHeaders(
  { ledger, caller, gateway }: ApiContext,
  { id, tenant }: { readonly id: string; readonly tenant: string },
): Promise<void> {
  if (!gateway.auditBodies()) return
  const look = { id, tenant, action: 'read-headers' } as const
  await recordLook(ledger, look, reasonOf(caller, 'read the headers and results'))
}

/** An event of another tenant does not exist for the caller. */
async function visibleEvent({ ledger, caller }: ApiContext, id: string): Promise<EventChain> {
  return visible(caller, id, (tenant) => readEvent(ledger, id, { tenant }))
}

/** An id of another tenant causes the same error as an unknown id. */
async function visible<Found>(
  caller: Caller,
  id: string,
  read: (tenant: string | undefined) => Promise<Found>,
): Promise<Found> {
  if (!/^[0-9a-f-]{1,36}$/i.test(id))
    throw new HookonceError('RECEIPT_UNKNOWN', `"${id}" is not a receipt id`)
  return read(caller.tenant)
}

const body = rawRoute({
  path: '/events/{id}/body',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Download the body as it arrived',
  description: 'Needs a token that may read bodies: a viewer may only if it was made with `bodies`.',
  media: 'application/octet-stream',
  async answer({ ledger, caller, gateway }, { params }) {
    requireBodies(caller)
    const found = await visible(caller, params.id, (tenant) => readBody(ledger, params.id, { tenant }))
    if (gateway.auditBodies())
      await recordLook(ledger, { ...found, action: 'read-body' }, reasonOf(caller, 'read the body'))
    return {
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${found.id}.body"`,
      },
      body: found.body,
    }
  },
})

const asTest = rawRoute({
  path: '/events/{id}/test',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Download a test that delivers the event again',
  description:
    'TypeScript for vitest and `hookonce/testing`. It holds the body and headers, so it needs a token that may read bodies, and is in the audit.',
  query: z.strictObject({
    hooks: text.optional().meta({
      description: 'The module that exports your hooks, as the test imports it. Default: `./hooks.ts`.',
    }),
  }),
  media: 'text/plain',
  async answer(context, { params, query }) {
    const { ledger, caller, gateway } = context
    requireBodies(caller)
    const chain = await visibleEvent(context, params.id)
    const test = eventAsTest(chain, query)
    if (gateway.auditBodies())
      await recordLook(
        ledger,
        { ...chain.receipt, action: 'read-body' },
        reasonOf(caller, 'read the body and headers as a test'),
      )
    return {
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'content-disposition': `attachment; filename="${chain.receipt.id}.test.ts"`,
      },
      body: test,
    }
  },
})

const replayBody = z.strictObject({
  why,
  subscriber: name
    .optional()
    .meta({ description: 'Only this subscriber. Default: every subscriber that wants the event.' }),
  fresh: z
    .boolean()
    .default(false)
    .meta({ description: 'Repeats finished steps, effects and writes too, with new keys.' }),
})

const replay = route({
  method: 'POST',
  path: '/events/{id}/replay',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Process an event again',
  description:
    'Finished jobs are received again. Work that is recorded as done is not repeated, unless `fresh` is true: read the plan first.',
  body: replayBody,
  response: z.object({ receiptId: z.string(), jobs: count }),
  async answer(context, { params, body }) {
    const { ledger, caller } = context
    const { receipt } = await visibleEvent(context, params.id)
    const reason = reasonOf(caller, body.why)
    const { subscriber } = body
    const options = body.fresh ? { subscriber, fresh: reason } : { subscriber, reason }
    const replayed = await replayOne(ledger, receipt.id, options)
    announceWork(ledger)
    return replayed
  },
})

const unattended = z
  .array(z.object({ source: z.string(), subscriber: z.string(), since: time, othersRun: z.boolean() }))
  .readonly()
  .meta({ description: 'Subscribers whose jobs would wait, because no running worker serves them.' })

const plan = route({
  method: 'GET',
  path: '/events/{id}/replay',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show what a replay of an event would do',
  query: z.strictObject({ subscriber: subscriberFilter }),
  response: z.object({
    receiptId: z.string(),
    jobs: z
      .array(z.object({ subscriber: z.string(), state: z.string().nullable(), again: z.boolean() }))
      .readonly(),
    unattended,
    fresh: z
      .array(
        z.object({
          subscriber: z.string(),
          steps: z.array(z.string()).readonly(),
          effects: z.array(z.object({ key: z.string(), mode: z.string(), state: z.string() })).readonly(),
          messages: z
            .array(
              z.object({ id: z.string(), topic: z.string(), key: z.string().nullable(), state: z.string() }),
            )
            .readonly(),
        }),
      )
      .readonly()
      .meta({ description: 'Finished work, which is repeated only with `fresh`.' }),
  }),
  async answer(context, { params, query }) {
    const { receipt } = await visibleEvent(context, params.id)
    const planned = await planReplayOne(context.ledger, receipt.id, query)
    const fresh = await planReplayFresh(context.ledger, receipt.id, query)
    const { receiptId, jobs, unattended } = planned
    return { receiptId, jobs, unattended, fresh: fresh.jobs }
  },
})

export const eventRoutes = [list, show, body, asTest, plan, replay] as const
