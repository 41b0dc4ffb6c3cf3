import { z } from 'zod'
import { listWorkers, readStatus } from '../../operate/status.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { count, listFields, pageOf, time } from './schemas.ts'

const tag = 'workers'

const worker = z.object({
  id: z.int(),
  host: z.string(),
  pid: z.int(),
  startedAt: time,
  leaseUntil: time,
  jobs: count.meta({ description: 'Jobs that it runs now.' }),
})

const list = route({
  method: 'GET',
  path: '/workers',
  access: { role: 'viewer', scope: 'ledger' },
  tag,
  summary: 'List the workers and relays that are alive',
  query: z.strictObject(listFields),
  response: pageOf(worker),
  async answer({ ledger }, { query: { limit, cursor } }) {
    const listQuery = { list: 'workers', filter: {} }
    const items = await listWorkers(ledger)
    const page = sliceOf({ items, keyOf: ({ id }) => String(id), limit }, readCursor(cursor, listQuery))
    return pageWithCursors(page, listQuery)
  },
})

const status = route({
  method: 'GET',
  path: '/status',
  access: { role: 'viewer', scope: 'ledger' },
  tag,
  summary: 'Show waiting and failed jobs, and the running workers',
  response: z.object({
    schema: z.object({ version: z.int(), name: z.string(), appliedAt: time }).optional(),
    totals: z.object({
      waiting: count,
      retrying: count,
      processing: count.meta({ description: 'Jobs that workers run now.' }),
      stranded: count.meta({
        description: 'Jobs whose worker ended while it ran them: they run again once they are rescued.',
      }),
      failed: count,
      attention: count,
      effectsUnknown: count,
      lagSeconds: z.number(),
    }),
    workers: z.array(worker).readonly(),
    stranded: z
      .array(
        worker.extend({
          isCleanStop: z.boolean().meta({ description: 'False: it died, or its lease ran out.' }),
        }),
      )
      .readonly()
      .meta({ description: 'Workers that are gone, with jobs that wait for their rescue.' }),
    jobs: z
      .array(
        z.object({
          tenant: z.string(),
          source: z.string(),
          subscriber: z.string(),
          waiting: count,
          retrying: count,
          stranded: count,
          failed: count,
          attention: count,
          effectsUnknown: count,
          lagSeconds: z.number(),
          unattended: count,
        }),
      )
      .readonly(),
    outbox: z
      .array(z.object({ topic: z.string(), waiting: count, failed: count, lagSeconds: z.number() }))
      .readonly(),
    unattended: z
      .array(
        z.object({
          tenant: z.string(),
          source: z.string(),
          subscriber: z.string(),
          jobs: count,
          since: time,
        }),
      )
      .readonly(),
  }),
  answer: ({ ledger }) => readStatus(ledger),
})

export const workerRoutes = [list, status] as const
