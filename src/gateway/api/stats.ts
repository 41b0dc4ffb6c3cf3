import { z } from 'zod'
import { DAY_MS, HOUR_MS } from '../../model/durations.ts'
import { type CountName, countNames, readStats } from '../../operate/stats.ts'
import { tenantFor } from './caller.ts'
import { route } from './route.ts'
import { count, sourceFilter, tenantField, time } from './schemas.ts'

const PERIODS = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS } as const
const period = z.enum(['1h', '24h', '7d'])

const counts = {
  ...(Object.fromEntries(countNames.map((one) => [one, count])) as Record<CountName, typeof count>),
  harmlessRepeats: count.meta({ description: 'Repeated deliveries and effects that did no harm.' }),
  acceptP50Ms: z.number().nullable(),
  acceptP99Ms: z.number().nullable(),
}

export const statRoutes = [
  route({
    method: 'GET',
    path: '/stats',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'stats',
    summary: 'Show counts over the last hour, day or week',
    description: 'From rollups, which are some seconds behind. No rows are counted.',
    query: z.strictObject({
      ...tenantField,
      period: period.default('1h').meta({ description: 'How far back.' }),
      source: sourceFilter,
    }),
    response: z.object({
      period,
      since: time,
      until: time,
      stepSeconds: z.int(),
      totals: z.object(counts),
      sources: z
        .array(
          z.object({
            tenant: z.string(),
            source: z.string(),
            ...counts,
            trend: z
              .array(count)
              .readonly()
              .meta({ description: 'Events received in each 24th of the period, the oldest first.' }),
          }),
        )
        .readonly(),
      points: z
        .array(z.object({ at: time, ...counts }))
        .readonly()
        .meta({ description: 'The oldest first. The last interval is not over yet.' }),
    }),
    async answer({ ledger, caller }, { query: { period, source, tenant } }) {
      const question = { windowMs: PERIODS[period], source, tenant: tenantFor(caller, tenant) }
      const { bucketMinutes, series, totals, sources, since, until } = await readStats(ledger, question)
      return { period, since, until, stepSeconds: bucketMinutes * 60, totals, sources, points: series }
    },
  }),
] as const
