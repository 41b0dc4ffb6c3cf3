import { z } from 'zod'
import { listAudit } from '../../operate/audit.ts'
import { tenantFor } from './caller.ts'
import { pageWithCursors, readCursor } from './cursor.ts'
import { route } from './route.ts'
import { listFields, pageOf, tenantField, time } from './schemas.ts'

const entry = z.object({
  id: z.string(),
  at: time,
  actor: z.string().meta({ description: 'The name of the token, or of the user of the command line.' }),
  action: z.string(),
  why: z.string(),
  tenant: z.string().meta({ description: '`*`: it is about all tenants.' }),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()).readonly(),
  address: z.string().nullable().meta({ description: 'The address of the client. Null: not over HTTP.' }),
})

export const auditRoutes = [
  route({
    method: 'GET',
    path: '/audit',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'audit',
    summary: 'List the actions of operators, newest first, with their reasons',
    query: z.strictObject({ ...listFields, ...tenantField }),
    response: pageOf(entry),
    async answer({ ledger, caller }, { query: { limit, cursor, tenant } }) {
      const filter = { tenant: tenantFor(caller, tenant) }
      const listQuery = { list: 'audit', filter }
      const page = await listAudit(ledger, { ...filter, limit, ...readCursor(cursor, listQuery) })
      return pageWithCursors({ ...page, data: page.entries }, listQuery)
    },
  }),
] as const
