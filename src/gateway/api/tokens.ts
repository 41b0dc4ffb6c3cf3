import { z } from 'zod'
import { createToken, listTokens, revokeToken, roles } from '../../operate/tokens.ts'
import { reasonOf } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { listFields, name, pageOf, text, time, why } from './schemas.ts'

const tag = 'tokens'

const token = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  tenant: z.string().nullable().meta({ description: 'Null: every tenant.' }),
  bodies: z.boolean().meta({ description: 'Whether it may read bodies, headers and payloads.' }),
  createdAt: time,
  createdBy: z.string(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  usedAt: time.nullable().meta({ description: 'To the minute.' }),
})

const list = route({
  method: 'GET',
  path: '/tokens',
  access: { role: 'admin', scope: 'ledger' },
  tag,
  summary: 'List the tokens, newest first, without the tokens themselves',
  query: z.strictObject({
    ...listFields,
    revoked: z.boolean().default(false).meta({ description: 'Also those that were revoked.' }),
  }),
  response: pageOf(token),
  async answer({ ledger }, { query: { limit, cursor, revoked } }) {
    const listQuery = { list: 'tokens', filter: { revoked } }
    const items = await listTokens(ledger, { revoked })
    const page = sliceOf({ items, keyOf: ({ id }) => id, limit }, readCursor(cursor, listQuery))
    return pageWithCursors(page, listQuery)
  },
})

const create = route({
  method: 'POST',
  path: '/tokens',
  access: { role: 'admin', scope: 'ledger' },
  tag,
  summary: 'Make a token',
  description: 'The answer holds the token. It is not stored, so this is the only time it is shown.',
  // The route accepts no Idempotency-Key: the stored reply would hold the token.
  isKeyed: false,
  status: 201,
  body: z.strictObject({
    name: text
      .max(64)
      .regex(/^[\w.@-]+$/, 'letters, digits and . _ @ - only')
      .meta({ description: 'Unique among the tokens in use. The audit shows it.' }),
    role: z.enum(roles).meta({ description: 'What it may do.' }),
    tenant: name.optional().meta({ description: 'The only tenant that it may see.' }),
    bodies: z.boolean().optional().meta({ description: 'Without it, all but a viewer may read bodies.' }),
    expiresAt: z.iso.datetime({ offset: true }).optional().meta({ description: 'ISO 8601. Default: never.' }),
    why,
  }),
  response: token.extend({ token: z.string() }),
  async answer({ ledger, caller }, { body: { why, expiresAt, ...request } }) {
    const ends = expiresAt === undefined ? undefined : new Date(expiresAt)
    return createToken(ledger, { ...request, expiresAt: ends }, reasonOf(caller, why))
  },
})

const revoke = route({
  method: 'DELETE',
  path: '/tokens/{id}',
  access: { role: 'admin', scope: 'ledger' },
  tag,
  summary: 'Revoke a token, by its id or name, and end its sessions',
  query: z.strictObject({ why }),
  response: token,
  async answer({ ledger, caller }, { params, query }) {
    return revokeToken(ledger, params.id, reasonOf(caller, query.why))
  },
})

export const tokenRoutes = [list, create, revoke] as const
