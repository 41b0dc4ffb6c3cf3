import { z } from 'zod'
import { adviceOn } from '../../model/errors.ts'
import { listRejections } from '../../operate/rejections.ts'
import { isRepeatable } from '../verify-command.ts'
import { tenantFor } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { count, listFields, pageOf, sourceFilter, tenantField, time } from './schemas.ts'

const rejection = z.object({
  source: z.string(),
  code: z.string().meta({ description: 'A code of the error catalogue.' }),
  count,
  firstAt: time,
  lastAt: time,
  lastDetail: z.string(),
  diagnosis: z.string().meta({ description: 'The diagnosis of the last diagnosed case. May be empty.' }),
  header: z
    .string()
    .nullable()
    .meta({ description: 'The header that caused the last refusal. Null: no header did.' }),
  advice: z.string().meta({ description: 'The advice for this code.' }),
  verifyCommand: z.string().nullable().meta({
    description:
      'A command that repeats this refusal with a stored delivery, from the folder in which the gateway was started. Null: `hookonce verify` cannot repeat it, or this gateway has no such source.',
  }),
})

export const rejectionRoutes = [
  route({
    method: 'GET',
    path: '/rejections',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'rejections',
    summary: 'List refused deliveries by source and reason, latest first',
    query: z.strictObject({ ...listFields, ...tenantField, source: sourceFilter }),
    response: pageOf(rejection),
    async answer({ ledger, caller, gateway }, { query: { limit, cursor, ...given } }) {
      const filter = { ...given, tenant: tenantFor(caller, given.tenant) }
      const listQuery = { list: 'rejections', filter }
      const items = await listRejections(ledger, filter)
      const keyOf = ({ source, code }: (typeof items)[number]): string => `${code} ${source}`
      const { data, ...cursors } = sliceOf({ items, keyOf, limit }, readCursor(cursor, listQuery))
      const advised = data.map((one) => ({
        ...one,
        advice: adviceOn(one.code),
        verifyCommand: (isRepeatable(one.code) && gateway.verifyCommand(one.source)) || null,
      }))
      return pageWithCursors({ ...cursors, data: advised }, listQuery)
    },
  }),
] as const
