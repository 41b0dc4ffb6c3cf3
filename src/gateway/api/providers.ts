import { z } from 'zod'
import { findProvider, providerIds } from '../../sources/catalogue/index.ts'
import { type CheckedDescription, checkDescription } from '../../sources/description.ts'
import { secretVariable } from '../../sources/environment.ts'
import { pageWithCursors, readCursor, sliceOf } from './cursor.ts'
import { route } from './route.ts'
import { listFields, pageOf } from './schemas.ts'

const provider = z.object({
  id: z.string(),
  name: z.string(),
  category: z.string(),
  signature: z.string(),
  confidence: z
    .enum(['verified', 'documented', 'uncertain'])
    .nullable()
    .meta({ description: 'How sure the catalogue is.' }),
  retriesForSeconds: z.number(),
  configuration: z.string().meta({ description: 'The line under `sources` of a configuration.' }),
})

let listed: Promise<readonly z.infer<typeof provider>[]> | undefined

/** All providers. They are loaded once, at the first request. */
function catalogue(): Promise<readonly z.infer<typeof provider>[]> {
  listed ??= Promise.all(
    providerIds.map(async (id) => {
      const make = await findProvider(id)
      return make ? [listedOf(checkDescription(make.description))] : []
    }),
  ).then((found) => found.flat())
  return listed
}

function listedOf({ provider: id, about, signature, retryWindowHours }: CheckedDescription) {
  return {
    id,
    name: about?.name ?? id,
    category: about?.category ?? '',
    signature: signature.algorithm,
    confidence: about?.confidence ?? null,
    retriesForSeconds: retryWindowHours * 3_600,
    configuration: `${id}: { provider: ${id}, secret: env:${secretVariable(id)} }`,
  }
}

export const providerRoutes = [
  route({
    method: 'GET',
    path: '/providers',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'sources',
    summary: 'List the providers of the catalogue',
    query: z.strictObject(listFields),
    response: pageOf(provider),
    async answer(_, { query: { limit, cursor } }) {
      const listQuery = { list: 'providers', filter: {} }
      const items = [...(await catalogue())]
      const page = sliceOf({ items, keyOf: ({ id }) => id, limit }, readCursor(cursor, listQuery))
      return pageWithCursors(page, listQuery)
    },
  }),
] as const
