import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import type { CapturedRequest } from '../capture/ring.ts'
import { type Caller, requireBodies } from './caller.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { type ApiContext, rawRoute, route } from './route.ts'
import { count, listFields, pageOf, time } from './schemas.ts'

/* Requests to sources that are not configured. Only `hookonce dev` keeps them, in memory. */

const tag = 'captured'
const access = { role: 'viewer', scope: 'ledger' } as const

const fields = {
  id: z.string(),
  at: time,
  method: z.string(),
  url: z.string(),
  bodyBytes: count,
  isCut: z.boolean().meta({ description: 'Whether the body was truncated.' }),
  durationMs: z.number(),
  looksLike: z.array(z.string()).readonly().meta({ description: 'Providers, best guess first.' }),
  advice: z.string().meta({ description: 'What to configure.' }),
}

const list = route({
  method: 'GET',
  path: '/captured',
  access,
  tag,
  summary: 'List requests to sources that are not configured, newest first',
  description: 'Only `hookonce dev` keeps them.',
  query: z.strictObject(listFields),
  response: pageOf(z.object(fields)),
  async answer({ gateway }, { query: { limit, cursor } }) {
    const listQuery = { list: 'captured', filter: {} }
    const items = gateway.captured?.list().map(listed) ?? []
    const slice = sliceOf({ items, keyOf: ({ id }) => id, limit }, readCursor(cursor, listQuery))
    return pageWithCursors(slice, listQuery)
  },
})

const show = route({
  method: 'GET',
  path: '/captured/{id}',
  access,
  tag,
  summary: 'Show one captured request with its headers',
  response: z.object({ ...fields, headers: z.array(z.tuple([z.string(), z.string()])).readonly() }),
  async answer(context, { params }) {
    const found = requestOf(context, params.id)
    return {
      ...listed(found),
      headers: found.headers.map(([name, value]): [string, string] => [name, value]),
    }
  },
})

const body = rawRoute({
  path: '/captured/{id}/body',
  access,
  tag,
  summary: 'Download the body of a captured request',
  media: 'application/octet-stream',
  async answer(context, { params }) {
    const found = requestOf(context, params.id)
    return {
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${found.id}.body"`,
      },
      body: found.body,
    }
  },
})

/** Headers may hold secrets of the sender, so they require the right to read bodies. */
function requestOf(
  { gateway, caller }: ApiContext & { readonly caller: Caller },
  id: string,
): CapturedRequest {
  requireBodies(caller)
  const found = gateway.captured?.find(id)
  if (found) return found
  throw new HookonceError('CAPTURE_UNKNOWN', `no captured request has the id "${id.slice(0, 64)}"`)
}

function listed({ headers: _, body, ...shown }: CapturedRequest) {
  return { ...shown, bodyBytes: body.length }
}

export const capturedRoutes = [list, show, body] as const
