import { z } from 'zod'
import { sourceNameOf } from '../../model/source-key.ts'
import { announceWork } from '../../operate/announce.ts'
import { pause } from '../../operate/pause.ts'
import { listSubscribers, planWaiting, settleWaiting } from '../../operate/subscribers.ts'
import { isVisible, reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import {
  count,
  listFields,
  name,
  ownTenant,
  pageOf,
  sourceFilter,
  tenantField,
  time,
  why,
} from './schemas.ts'
import { pauseBody, pauseResponse, resumed, resumeResponse } from './sources.ts'

const tag = 'subscribers'

const circuit = z
  .object({
    state: z.enum(['closed', 'open', 'half-open']),
    since: time,
    reason: z.string().nullable().meta({
      description:
        'The failure that opened it. Null also for a token of one tenant, if other tenants share the circuit.',
    }),
    nextProbeAt: time.nullable(),
  })
  .nullable()
  .meta({ description: 'Null: it has none.' })

const rate = z
  .object({ perSecond: z.number(), burst: z.number(), tokens: z.number() })
  .nullable()
  .meta({ description: 'Over all processes. Null: it has none.' })

const subscriber = z.object({
  tenant: z.string(),
  source: z.string(),
  subscriber: z.string(),
  pattern: z.string(),
  registeredAt: time,
  pausedAt: time.nullable(),
  isServed: z.boolean().meta({ description: 'Whether a running worker serves it.' }),
  servedUntil: time.nullable(),
  waiting: count,
  begun: count.meta({ description: 'The waiting jobs that ran before.' }),
  circuit,
  rate,
})

const list = route({
  method: 'GET',
  path: '/subscribers',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List the subscribers, their waiting jobs, and whether they are served',
  query: z.strictObject({ ...listFields, ...tenantField, source: sourceFilter }),
  response: pageOf(subscriber),
  async answer({ ledger, caller }, { query: { limit, cursor, ...given } }) {
    const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
    const listQuery = { list: 'subscribers', filter }
    const items = (await listSubscribers(ledger, { tenant: caller.tenant })).filter(
      (one) => (filter.tenant ?? one.tenant) === one.tenant && (filter.source ?? one.source) === one.source,
    )
    const keyOf = (one: (typeof items)[number]): string => String(one.id)
    return pageWithCursors(sliceOf({ items, keyOf, limit }, readCursor(cursor, listQuery)), listQuery)
  },
})

const hold = route({
  method: 'POST',
  path: '/subscribers/{source}/{subscriber}/pause',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Hold the jobs of a subscriber',
  body: pauseBody,
  response: pauseResponse,
  async answer({ ledger, caller }, { params: { source, subscriber }, body }) {
    const target = { tenant: tenantFor(caller, body.tenant) ?? 'default', source, subscriber }
    const changed = await pause(ledger, target, reasonOf(caller, body.why))
    return { ...target, paused: true, changed }
  },
})

const release = route({
  method: 'POST',
  path: '/subscribers/{source}/{subscriber}/resume',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Resume a subscriber',
  body: pauseBody,
  response: resumeResponse,
  async answer(context, { params: { source, subscriber }, body }) {
    const target = { tenant: tenantFor(context.caller, body.tenant) ?? 'default', source, subscriber }
    return { ...target, ...(await resumed(context, target, body.why)) }
  },
})

const settling = {
  to: name
    .optional()
    .meta({ description: 'The subscriber that gets the jobs. Without it, they are discarded.' }),
  begun: z.boolean().default(false).meta({ description: 'Also moves jobs that have run before.' }),
  tenant: ownTenant,
}

const plan = route({
  method: 'GET',
  path: '/subscribers/{source}/{subscriber}/waiting',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show what moving or discarding the waiting jobs would do',
  query: z.strictObject(settling),
  response: z.object({
    jobs: count,
    types: z.array(z.string()).readonly(),
    unwanted: z.array(z.object({ type: z.string(), jobs: count })).readonly(),
    begun: count.meta({ description: 'How many jobs stay, because they have run before.' }),
  }),
  async answer({ ledger, caller }, { params, query }) {
    const tenant = tenantFor(caller, query.tenant) ?? 'default'
    return planWaiting(ledger, { ...params, ...query, tenant })
  },
})

const settle = route({
  method: 'POST',
  path: '/subscribers/{source}/{subscriber}/waiting',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Move the waiting jobs to another subscriber, or discard them',
  description: 'Only of a subscriber that no running worker serves.',
  body: z.strictObject({ ...settling, why }),
  response: z.object({ jobs: count }),
  async answer({ ledger, caller }, { params, body: { why, ...request } }) {
    const tenant = tenantFor(caller, request.tenant) ?? 'default'
    const jobs = await settleWaiting(ledger, { ...params, ...request, tenant }, reasonOf(caller, why))
    announceWork(ledger)
    return { jobs }
  },
})

const destination = z.object({
  name: z.string(),
  url: z.string().meta({ description: 'Without user, password and query.' }),
  types: z.string(),
  sources: z.array(z.string()).readonly(),
  concurrency: z.int(),
  timeoutMs: z.number(),
  circuit,
  rate,
  waiting: count,
  isServed: z.boolean(),
  paused: z.array(z.string()).readonly().meta({ description: 'The sources for which it is paused.' }),
})

/** Destinations are the subscribers of a gateway's configuration. */
const destinations = route({
  method: 'GET',
  path: '/destinations',
  access: { role: 'viewer', scope: 'tenant' },
  tag: 'destinations',
  summary: 'List the destinations of this gateway',
  query: z.strictObject(listFields),
  response: pageOf(destination),
  async answer({ ledger, caller, gateway }, { query: { limit, cursor } }) {
    const listQuery = { list: 'destinations', filter: {} }
    const known = await listSubscribers(ledger, { tenant: caller.tenant })
    const items = gateway.destinations().flatMap(({ routes, ...one }) => {
      const visible = routes.filter(({ tenant }) => isVisible(caller, tenant))
      // A destination that serves only other tenants does not exist for this caller.
      if (caller.tenant !== undefined && visible.length === 0) return []
      const own = known.filter(
        (row) =>
          row.subscriber === one.name &&
          visible.some(({ source, tenant }) => sourceNameOf(source) === row.source && tenant === row.tenant),
      )
      return [
        {
          ...one,
          types: [...new Set(visible.flatMap(({ types }) => types))].join(', '),
          sources: visible.map(({ source }) => source),
          circuit: own[0]?.circuit ?? null,
          rate: own[0]?.rate ?? null,
          waiting: own.reduce((all, { waiting }) => all + waiting, 0),
          isServed: own.some(({ isServed }) => isServed),
          paused: own.filter(({ pausedAt }) => pausedAt !== null).map(({ source }) => source),
        },
      ]
    })
    const page = sliceOf({ items, keyOf: (one) => one.name, limit }, readCursor(cursor, listQuery))
    return pageWithCursors(page, listQuery)
  },
})

export const subscriberRoutes = [list, hold, release, plan, settle, destinations] as const
