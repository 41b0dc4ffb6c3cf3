import { z } from 'zod'
import { receiptById } from '../../operate/receipt.ts'
import { planRetryNow, type RetryPlan, retryNow } from '../../operate/retry-now.ts'
import { requireKnown } from '../../operate/sources.ts'
import { reasonOf, tenantFor } from './caller.ts'
import { type ApiContext, route } from './route.ts'
import { count, sourceFilter, subscriberFilter, tenantField, time, why } from './schemas.ts'

const tag = 'retries'

const wanted = {
  event: z
    .string()
    .regex(/^[0-9a-f-]{1,36}$/i, 'is not a receipt id')
    .optional()
    .meta({ description: 'Only the jobs of this event: the id of its receipt, or its beginning.' }),
  source: sourceFilter,
  subscriber: subscriberFilter,
  ...tenantField,
}

const wantedJobs = z.strictObject(wanted)

/** The limit on jobs per request, because a person waits for the answer. */
const MAX_JOBS = 5_000
const SAMPLE = 10

const isComplete = z
  .boolean()
  .meta({ description: `False: there may be more than ${MAX_JOBS}. Send the request again.` })

const plan = route({
  method: 'POST',
  path: '/retries/plan',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'Show which jobs wait for their next attempt, and would run now',
  description: `Changes nothing. Counts up to ${MAX_JOBS} jobs.`,
  isKeyed: false,
  body: wantedJobs,
  response: z.object({
    jobs: count,
    isComplete,
    sample: z.array(z.string()).readonly().meta({ description: 'Receipts of some of the jobs.' }),
    firstDueAt: time.nullable().meta({ description: 'When the first of them is due without this request.' }),
    lastDueAt: time.nullable(),
    unattended: z
      .array(z.object({ source: z.string(), subscriber: z.string(), since: time, othersRun: z.boolean() }))
      .readonly()
      .meta({ description: 'Subscribers whose jobs still wait: no running worker serves them.' }),
    paused: z
      .array(z.object({ source: z.string(), subscriber: z.string().nullable() }))
      .readonly()
      .meta({ description: 'Pauses that still hold some of the jobs.' }),
    circuits: z
      .array(z.object({ source: z.string(), subscriber: z.string(), state: z.string() }))
      .readonly()
      .meta({ description: 'Circuits that still hold some of the jobs.' }),
  }),
  async answer(context, { body }) {
    const { jobs, unattended, paused, circuits } = await planned(context, body)
    const due = jobs.map(({ dueAt }) => dueAt.getTime())
    return {
      jobs: jobs.length,
      isComplete: jobs.length < MAX_JOBS,
      sample: [...new Set(jobs.slice(0, SAMPLE).map(({ receiptId }) => receiptId))],
      firstDueAt: due.length === 0 ? null : new Date(Math.min(...due)),
      lastDueAt: due.length === 0 ? null : new Date(Math.max(...due)),
      unattended,
      paused,
      // Omits the reason: a circuit may be shared with other tenants.
      circuits: circuits.map(({ source, subscriber, circuit }) => ({
        source,
        subscriber,
        state: circuit.state,
      })),
    }
  },
})

async function planned(
  { ledger, caller }: ApiContext,
  { event, ...given }: z.output<typeof wantedJobs>,
): Promise<RetryPlan> {
  const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
  await requireKnown(ledger, filter)
  const receiptId = event === undefined ? undefined : (await receiptById(ledger, event, filter)).id
  return planRetryNow(ledger, { ...filter, receiptId, limit: MAX_JOBS })
}

const run = route({
  method: 'POST',
  path: '/retries',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Run now the jobs that wait for their next attempt',
  description: `At most ${MAX_JOBS} per request. Their attempts stay counted, and finished work is not repeated.`,
  body: z.strictObject({ ...wanted, why }),
  response: z.object({
    jobs: count.meta({
      description: 'Jobs that are due now. Jobs that have started or ended meanwhile are not counted.',
    }),
    isComplete,
  }),
  async answer(context, { body: { why, ...jobs } }) {
    const plan = await planned(context, jobs)
    const retried = await retryNow(context.ledger, plan, reasonOf(context.caller, why))
    return { jobs: retried, isComplete: plan.jobs.length < MAX_JOBS }
  },
})

export const retryRoutes = [plan, run] as const
