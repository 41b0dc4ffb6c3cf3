import { z } from 'zod'
import { cancelReplay, listReplays, planReplays, readReplay, startReplay } from '../../operate/replays.ts'
import { type Caller, reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import {
  count,
  listFields,
  moment,
  pageOf,
  sourceFilter,
  subscriberFilter,
  tenantField,
  text,
  time,
  typeFilter,
  why,
} from './schemas.ts'

const tag = 'replays'

const wanted = {
  state: z
    .enum(['failed', 'processed'])
    .default('failed')
    .meta({ description: '`processed` needs `since`.' }),
  source: sourceFilter,
  subscriber: subscriberFilter,
  type: typeFilter,
  error: text
    .optional()
    .meta({ description: 'A part of the error, or the fingerprint of a group of failures.' }),
  since: moment.optional(),
  until: moment.optional(),
  ...tenantField,
  perSecond: z
    .int()
    .min(1)
    .max(500)
    .default(50)
    .meta({ description: 'Jobs per second, over all processes.' }),
}

const wantedJobs = z.strictObject(wanted)

const plan = route({
  method: 'POST',
  path: '/replays/plan',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show what a replay of many jobs would do',
  description: 'Changes nothing. Counts up to 20,000 jobs.',
  isKeyed: false,
  body: wantedJobs,
  response: z.object({
    jobs: count,
    isComplete: z.boolean().meta({ description: 'False: there are more than were counted.' }),
    sample: z.array(z.string()).readonly().meta({ description: 'Receipts of some of the jobs.' }),
    effects: z
      .object({
        count,
        ofJobs: count.meta({ description: 'The number of jobs whose effects were counted.' }),
        keys: z.array(z.string()).readonly(),
      })
      .meta({ description: 'Effects that are done, and will not happen again.' }),
    estimatedSeconds: z.number(),
    unattended: z
      .array(z.object({ source: z.string(), subscriber: z.string(), since: time, othersRun: z.boolean() }))
      .readonly(),
  }),
  answer: ({ ledger, caller }, { body }) => planReplays(ledger, requestOf(caller, body)),
})

function requestOf(caller: Caller, { perSecond, ...filter }: z.output<typeof wantedJobs>) {
  return { filter: { ...filter, tenant: tenantFor(caller, filter.tenant) }, perSecond }
}

const replay = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['running', 'done', 'cancelled']),
  tenant: z.string().nullable(),
  actor: z.string(),
  why: z.string(),
  perSecond: z.int(),
  filter: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Which jobs; patterns are those of SQL’s LIKE.' }),
  expected: count.meta({ description: 'Jobs that matched at the start.' }),
  seen: count.meta({ description: 'Jobs that were read so far.' }),
  replayed: count,
  createdAt: time,
  endedAt: time.nullable(),
})

const start = route({
  method: 'POST',
  path: '/replays',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Start a replay of many jobs',
  description: 'It continues in the background, at most at the rate `perSecond`, even after a restart.',
  status: 201,
  body: z.strictObject({
    ...wanted,
    name: text.max(200).meta({ description: 'For people: the incident that it repairs.' }),
    why,
  }),
  response: replay,
  async answer({ ledger, caller }, { body: { name, why, ...jobs } }) {
    const started = await startReplay(ledger, { name, ...requestOf(caller, jobs) }, reasonOf(caller, why))
    return shown(started)
  },
})

const list = route({
  method: 'GET',
  path: '/replays',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List replays, newest first',
  query: z.strictObject({ ...listFields, ...tenantField }),
  response: pageOf(replay),
  async answer({ ledger, caller }, { query: { limit, cursor, tenant } }) {
    const filter = { tenant: tenantFor(caller, tenant) }
    const listQuery = { list: 'replays', filter }
    const items = (await listReplays(ledger, filter)).map(shown)
    const page = sliceOf({ items, keyOf: ({ id }) => id, limit }, readCursor(cursor, listQuery))
    return pageWithCursors(page, listQuery)
  },
})

const show = route({
  method: 'GET',
  path: '/replays/{id}',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show the progress of a replay',
  response: replay,
  answer: async ({ ledger, caller }, { params }) => shown(await readReplay(ledger, params.id, caller)),
})

const cancel = route({
  method: 'POST',
  path: '/replays/{id}/cancel',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Cancel a replay; jobs already replayed are not undone',
  body: z.strictObject({ why }),
  response: replay,
  async answer({ ledger, caller }, { params, body }) {
    const reason = reasonOf(caller, body.why)
    return shown(await cancelReplay(ledger, params.id, { scope: caller, reason }))
  },
})

function shown<Row extends { readonly filter: object }>(row: Row) {
  return { ...row, filter: { ...row.filter } as Record<string, unknown> }
}

export const replayRoutes = [plan, start, list, show, cancel] as const
