import { z } from 'zod'
import { HOUR_MS } from '../model/durations.ts'
import { nextPage, type ProviderApi, shaped } from './api.ts'
import type { ChangedObject, KnownTypes, ListedEvent, ListWindow, ProviderList } from './contract.ts'
import { elementsOf, membersOf } from './json-text.ts'
import { requireProgress } from './newest-first.ts'
import type { ShopifyListOptions } from './options.ts'

/*
 * Shopify has no list of events or deliveries, and recommends reading the changed objects. An
 * object shows a change, but not the key of its delivery. So the event of a change has a derived
 * key, and a later delivery of the same change is a second event (docs/reconcile.md).
 *
 * Uses the REST API, because webhooks contain the same representation of an object.
 */

const PAGE_SIZE = 250

interface Resource {
  readonly name: string
  readonly create: string
  readonly update: string
  readonly query?: Readonly<Record<string, string>>
}

const RESOURCES: readonly Resource[] = [
  // Without `status`, only open orders are listed.
  { name: 'orders', create: 'orders/create', update: 'orders/updated', query: { status: 'any' } },
  { name: 'draft_orders', create: 'draft_orders/create', update: 'draft_orders/update' },
  { name: 'products', create: 'products/create', update: 'products/update' },
  { name: 'customers', create: 'customers/create', update: 'customers/update' },
]

const objectSchema = z.object({
  id: z.number(),
  created_at: z.iso.datetime({ offset: true }),
  updated_at: z.iso.datetime({ offset: true }),
})

export const shopifyList: ProviderList<ShopifyListOptions> = {
  name: 'Shopify',
  apiUrl: ({ shop }) => `https://${shop}`,
  headers: ({ apiKey }) => ({ 'x-shopify-access-token': apiKey }),
  listsMs: undefined,
  defaultMode: 'report',
  // Shopify retries for four hours.
  settlesMs: 4 * HOUR_MS,
  narrowBy: '`types` (--type orders/*)',
  async open(api, window, options) {
    const resources = RESOURCES.filter(({ create, update }) => window.wants(create) || window.wants(update))
    const names = resources.map(({ name }) => name).join(', ') || 'none'
    return {
      notes: [
        `Shopify lists no events. Changed objects were read (${names}), so only their creation and their latest change can be found: no deletion, and no other topic.`,
      ],
      pages: { of: 'objects', read: () => readAll(api, window, options, resources) },
    }
  },
}

async function* readAll(
  api: ProviderApi,
  { sinceMs, untilMs }: ListWindow,
  options: ShopifyListOptions,
  resources: readonly Resource[],
): AsyncGenerator<readonly ChangedObject[]> {
  const limit = String(PAGE_SIZE)
  for (const resource of resources) {
    const path = `/admin/api/${options.apiVersion}/${resource.name}.json`
    const cursors = new Set<string>()
    let cursor: string | undefined
    do {
      // A request with a cursor may repeat no filter.
      const answer = await api.get(
        path,
        cursor === undefined
          ? {
              ...resource.query,
              limit,
              updated_at_min: new Date(sinceMs).toISOString(),
              updated_at_max: new Date(untilMs).toISOString(),
            }
          : { limit, page_info: cursor },
      )
      yield changedObjects(resource, answer, { sinceMs, options })
      const next = nextPage(answer, 'page_info')
      if (next !== undefined) {
        requireProgress(!cursors.has(next), next)
        cursors.add(next)
      }
      cursor = next
    } while (cursor !== undefined)
  }
}

interface PageContext {
  readonly sinceMs: number
  readonly options: ShopifyListOptions
}

function changedObjects(
  resource: Resource,
  answer: { readonly json: unknown; readonly text: string },
  context: PageContext,
): ChangedObject[] {
  const schema = z.object({ [resource.name]: z.array(objectSchema) })
  const objects = shaped(schema, answer, `the list of ${resource.name}`)[resource.name] ?? []
  const texts = elementsOf(membersOf(answer.text).get(resource.name) ?? '')
  return objects.map((object, index) => {
    const text = texts[index] ?? ''
    const id = membersOf(text).get('id') ?? ''
    const updatedAtMs = Date.parse(object.updated_at)
    const event = (type: string, key: string): ListedEvent => ({
      key,
      type,
      occurredAtMs: updatedAtMs,
      read: async () => ({ headers: headersOf({ type, key, object, context }), body: Buffer.from(text) }),
    })
    return {
      objectId: id,
      typePrefix: `${resource.name}/`,
      changedAtMs: updatedAtMs,
      missing(known: KnownTypes, wants) {
        const isNew = Date.parse(object.created_at) >= context.sinceMs
        // An object is created once, so its version is not part of the key.
        if (isNew && wants(resource.create) && !known.has(resource.create))
          return event(resource.create, `reconciled:${resource.create}:${id}`)
        // Any later event about the object includes this change.
        const isKnown = [...known.values()].some((occurredAtMs) => occurredAtMs >= updatedAtMs)
        if (isKnown || !wants(resource.update)) return undefined
        return event(resource.update, `reconciled:${resource.update}:${id}:${object.updated_at}`)
      },
    }
  })
}

/** The headers of a delivery, with the derived key in place of Shopify's key. */
function headersOf({
  type,
  key,
  object,
  context: { options },
}: {
  readonly type: string
  readonly key: string
  readonly object: z.output<typeof objectSchema>
  readonly context: PageContext
}): readonly (readonly [string, string])[] {
  return [
    ['Content-Type', 'application/json'],
    ['X-Shopify-Topic', type],
    ['X-Shopify-Webhook-Id', key],
    ['X-Shopify-Shop-Domain', options.shop],
    ['X-Shopify-API-Version', options.apiVersion],
    ['X-Shopify-Triggered-At', object.updated_at],
  ]
}
