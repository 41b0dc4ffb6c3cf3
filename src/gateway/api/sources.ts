import { z } from 'zod'
import { announceWork } from '../../operate/announce.ts'
import { type PauseTarget, pause, resume } from '../../operate/pause.ts'
import { listSources } from '../../operate/sources.ts'
import { recordTestEvent } from '../../operate/test-event.ts'
import { reasonOf, tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { type ApiContext, route } from './route.ts'
import { count, listFields, ownTenant, pageOf, tenantField, text, time, why } from './schemas.ts'

const tag = 'sources'

const source = z.object({
  tenant: z.string(),
  source: z.string(),
  health: z
    .enum(['paused', 'failing', 'unattended', 'ok'])
    .meta({ description: '`unattended`: jobs wait that no running worker serves.' }),
  pausedAt: time.nullable(),
  waiting: count,
  retrying: count,
  failed: count,
  attention: count,
  lagSeconds: z.number().meta({ description: 'Age of the oldest job that is due.' }),
  lastEvent: z
    .object({ id: z.string(), receivedAt: time, eventType: z.string(), secret: z.int() })
    .nullable()
    .meta({ description: 'Among the newest events of the ledger. Null: it has none among them.' }),
  lastHeardAt: time.nullable().meta({
    description:
      'The start of the ten minutes in which its last delivery arrived. Null: none for about a week.',
  }),
  secrets: z
    .array(z.object({ secret: z.int(), lastAt: time }))
    .readonly()
    .meta({ description: 'Which of its secrets matched lately, by position from 1.' }),
})

const list = route({
  method: 'GET',
  path: '/sources',
  access: { role: 'viewer', scope: 'tenant' },
  tag,
  summary: 'List the sources with their health and last events',
  query: z.strictObject({ ...listFields, ...tenantField }),
  response: pageOf(source),
  async answer({ ledger, caller }, { query: { limit, cursor, tenant } }) {
    const filter = { tenant: tenantFor(caller, tenant) }
    const listQuery = { list: 'sources', filter }
    const items = await listSources(ledger, filter)
    const keyOf = (one: (typeof items)[number]): string => JSON.stringify([one.tenant, one.source])
    return pageWithCursors(sliceOf({ items, keyOf, limit }, readCursor(cursor, listQuery)), listQuery)
  },
})

export const pauseBody = z.strictObject({ why, tenant: ownTenant })
export const pauseResponse = z.object({
  tenant: z.string(),
  source: z.string(),
  subscriber: z.string().nullable(),
  paused: z.boolean(),
  changed: z.boolean().meta({ description: 'False: it was already in this state, and nothing changed.' }),
})
export const resumeResponse = pauseResponse.extend({
  probes: count.meta({ description: 'Open circuits whose next probe is due now instead of later.' }),
})

/** Resumes a source. Wakes the workers if the source was paused. */
export async function resumed(
  { ledger, caller }: ApiContext,
  target: PauseTarget,
  why: string,
): Promise<{ readonly paused: false; readonly changed: boolean; readonly probes: number }> {
  const { wasPaused, probes } = await resume(ledger, target, reasonOf(caller, why))
  const changed = wasPaused || probes > 0
  if (changed) announceWork(ledger)
  return { paused: false, changed, probes }
}

const hold = route({
  method: 'POST',
  path: '/sources/{source}/pause',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Hold the jobs of a source; its events are still recorded',
  body: pauseBody,
  response: pauseResponse,
  async answer({ ledger, caller }, { params, body }) {
    const tenant = tenantFor(caller, body.tenant) ?? 'default'
    const changed = await pause(ledger, { tenant, source: params.source }, reasonOf(caller, body.why))
    return { tenant, source: params.source, subscriber: null, paused: true, changed }
  },
})

const release = route({
  method: 'POST',
  path: '/sources/{source}/resume',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Resume a source',
  body: pauseBody,
  response: resumeResponse,
  async answer(context, { params: { source }, body }) {
    const target = { tenant: tenantFor(context.caller, body.tenant) ?? 'default', source }
    return { ...target, subscriber: null, ...(await resumed(context, target, body.why)) }
  },
})

const test = route({
  method: 'POST',
  path: '/sources/{source}/test',
  access: { role: 'operator', scope: 'tenant' },
  tag,
  summary: 'Send a signed sample event to the listener of this gateway',
  description: 'From there on it is an event like any other: recorded, processed, forwarded.',
  body: z.strictObject({
    why,
    tenant: ownTenant,
    type: text.max(200).optional().meta({ description: 'Default: the usual type of the provider.' }),
  }),
  response: z.object({
    eventKey: z.string(),
    eventType: z.string(),
    status: z.int().meta({ description: 'How the listener answered.' }),
    answer: z.string(),
    receiptId: z.string().nullable().meta({ description: 'Null: it was not recorded.' }),
  }),
  async answer({ ledger, caller, gateway }, { params: { source }, body }) {
    const target = { tenant: tenantFor(caller, body.tenant) ?? 'default', source, type: body.type }
    const prepared = await gateway.prepareTest(target)
    await recordTestEvent(ledger, { ...target, ...prepared.event }, reasonOf(caller, body.why))
    return { ...prepared.event, ...(await prepared.send()) }
  },
})

export const sourceRoutes = [list, hold, release, test] as const
