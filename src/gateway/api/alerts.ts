import { z } from 'zod'
import { SECOND_MS } from '../../model/durations.ts'
import { acknowledgeAlert, listAlerts } from '../../operate/alerts.ts'
import { reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { count, listFields, pageOf, tenantField, time, why } from './schemas.ts'

const tag = 'alerts'

const alert = z.object({
  id: z.string(),
  rule: z.string(),
  tenant: z.string(),
  source: z.string(),
  subscriber: z.string().meta({ description: 'Empty: it is about the whole source.' }),
  says: z.string().meta({ description: 'The extent of the problem, in one sentence.' }),
  next: z.string().meta({ description: 'The command that shows more.' }),
  openedAt: time,
  lastSeenAt: time,
  clearSince: time.nullable(),
  resolvedAt: time.nullable(),
  notifiedAt: time.nullable(),
  mutedUntil: time.nullable(),
  acknowledgedAt: time.nullable(),
  acknowledgedBy: z.string().nullable(),
  acknowledgedWhy: z.string().nullable(),
  times: count.meta({ description: 'How often it was opened.' }),
})

/** More alerts than a person can read at once. Older alerts are omitted. */
const MOST = 1_000

const list = route({
  method: 'GET',
  path: '/alerts',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List the open alerts, newest first',
  query: z.strictObject({
    ...listFields,
    ...tenantField,
    state: z.enum(['open', 'all']).default('open').meta({ description: '`all`: also resolved ones.' }),
  }),
  response: pageOf(alert),
  async answer({ ledger, caller }, { query: { limit, cursor, state, tenant } }) {
    const filter = { state, tenant: tenantFor(caller, tenant) }
    const listQuery = { list: 'alerts', filter }
    const items = await listAlerts(ledger, { all: state === 'all', tenant: filter.tenant, limit: MOST })
    const slice = sliceOf({ items, keyOf: ({ id }) => id, limit }, readCursor(cursor, listQuery))
    return pageWithCursors(slice, listQuery)
  },
})

const acknowledge = route({
  method: 'POST',
  path: '/alerts/{id}/acknowledge',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Acknowledge an open alert, and optionally mute it',
  body: z.strictObject({
    why,
    ...tenantField,
    muteSeconds: z.int().positive().optional().meta({ description: 'No message for this long.' }),
  }),
  response: alert,
  async answer({ ledger, caller }, { params: { id }, body: { why, tenant, muteSeconds } }) {
    return acknowledgeAlert(ledger, {
      ...reasonOf(caller, why),
      id,
      tenant: tenantFor(caller, tenant),
      muteMs: muteSeconds === undefined ? undefined : muteSeconds * SECOND_MS,
    })
  },
})

export const alertRoutes = [list, acknowledge] as const
