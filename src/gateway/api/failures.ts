import { z } from 'zod'
import { listFailures } from '../../operate/failures.ts'
import { tenantFor } from './caller.ts'
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
  time,
  typeFilter,
} from './schemas.ts'

const failureGroup = z.object({
  tenant: z.string(),
  source: z.string(),
  subscriber: z.string(),
  fingerprint: z
    .string()
    .meta({ description: 'Names the error: pass it as `error` to /events and /replays.' }),
  error: z.string().meta({ description: 'The error of the latest job in the group.' }),
  jobs: count.meta({ description: 'Jobs that are failed now.' }),
  firstAt: time.meta({
    description: 'When the error was first seen, also in jobs that were replayed since.',
  }),
  lastAt: time.meta({ description: 'When the error was last seen.' }),
  receiptIds: z
    .array(z.string())
    .readonly()
    .meta({ description: 'Of up to three of the latest jobs that are failed now.' }),
  hours: z
    .array(z.object({ at: z.string(), jobs: count }))
    .readonly()
    .meta({ description: 'The failed jobs by hour of their failure, for the latest hours with any.' }),
})

export const failureRoutes = [
  route({
    method: 'GET',
    path: '/failures',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'failures',
    summary: 'Group failed jobs by their error, the largest groups first',
    description:
      'Counts all failed jobs. With `type`, `since` or `until` it reads the newest ones, some 2,500 over all subscribers. Lists at most 300 groups: the 250 largest, and the 50 latest.',
    query: z.strictObject({
      ...listFields,
      ...tenantField,
      source: sourceFilter,
      subscriber: subscriberFilter,
      type: typeFilter,
      since: moment.optional(),
      until: moment.optional(),
    }),
    response: pageOf(failureGroup).extend({
      isComplete: z.boolean().meta({
        description: 'False: there are older failures, which were not read, or more groups.',
      }),
    }),
    async answer({ ledger, caller }, { query: { limit, cursor, ...given } }) {
      const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
      const { since: _, until: __, ...fixed } = filter
      const listQuery = { list: 'failures', filter: fixed }
      const { groups, isComplete } = await listFailures(ledger, filter)
      const keyOf = (group: (typeof groups)[number]): string =>
        JSON.stringify([group.tenant, group.source, group.subscriber, group.fingerprint])
      const page = sliceOf({ items: groups, keyOf, limit }, readCursor(cursor, listQuery))
      return { ...pageWithCursors(page, listQuery), isComplete }
    },
  }),
] as const
