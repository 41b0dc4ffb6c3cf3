import { z } from 'zod'
import { DAY_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { nextPage, type ProviderApi, shaped } from './api.ts'
import type { ListedDelivery, ListedEvent, ListWindow, ProviderList } from './contract.ts'
import { elementsOf, membersOf } from './json-text.ts'
import { oldestFirst } from './newest-first.ts'
import type { GitHubListOptions } from './options.ts'

/*
 * GET …/hooks/{id}/deliveries lists the deliveries of the last three days, newest first, without
 * payloads. GET …/deliveries/{id} has the headers and the payload of one. A redelivery is listed
 * too, under the guid of the first delivery: the guid is the event key.
 */

const PAGE_SIZE = 100

const pageSchema = z.array(
  z.object({
    guid: z.string().min(1),
    delivered_at: z.iso.datetime({ offset: true }),
    event: z.string().min(1),
    action: z.string().nullish(),
  }),
)

const deliverySchema = z.object({
  request: z.object({
    headers: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullish(),
    payload: z.unknown(),
  }),
})

export const githubList: ProviderList<GitHubListOptions> = {
  name: 'GitHub',
  apiUrl: () => 'https://api.github.com',
  headers: ({ apiKey }) => ({
    authorization: `Bearer ${apiKey}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  }),
  listsMs: 3 * DAY_MS,
  defaultMode: 'record',
  settlesMs: 0,
  // The list contains only deliveries of one hook, so all of them were sent here.
  narrowBy: undefined,
  async open(api, window, { hook }) {
    const path = deliveriesPath(hook)
    return {
      notes: [],
      sends: () => true,
      pages: { of: 'events', read: () => oldestFirst((cursor) => readPage(api, window, path, cursor)) },
    }
  },
}

/** `owner/repo/123`, `org/123` or `app`. */
function deliveriesPath(hook: string): string {
  const parts = hook.split('/').map(encodeURIComponent)
  const [owner, second, third] = parts
  if (hook === 'app') return '/app/hook/deliveries'
  if (parts.length === 2 && /^\d+$/.test(second ?? '')) return `/orgs/${owner}/hooks/${second}/deliveries`
  if (parts.length === 3 && /^\d+$/.test(third ?? ''))
    return `/repos/${owner}/${second}/hooks/${third}/deliveries`
  throw new HookonceError(
    'CONFIG_INVALID',
    `"${hook}" names no hook of GitHub: pass owner/repo/ID, org/ID, or app. The ID is in the address of the hook's settings`,
  )
}

async function readPage(
  api: ProviderApi,
  { sinceMs, untilMs }: ListWindow,
  path: string,
  cursor: string | undefined,
): Promise<{ items: readonly ListedEvent[]; next: string | undefined }> {
  const answer = await api.get(path, {
    per_page: String(PAGE_SIZE),
    ...(cursor === undefined ? {} : { cursor }),
  })
  const page = shaped(pageSchema, answer, 'the list of deliveries')
  const texts = elementsOf(answer.text)
  const items = page.map(({ guid, delivered_at: deliveredAt, event, action }, index) => {
    // Ids stay texts: they may exceed the integers of JavaScript.
    const id = membersOf(texts[index] ?? '').get('id') ?? ''
    return {
      key: guid,
      type: action ? `${event}.${action}` : event,
      occurredAtMs: Date.parse(deliveredAt),
      read: () => readDelivery(api, `${path}/${id}`, { guid, event }),
    }
  })
  const isPastWindow = items.some(({ occurredAtMs }) => occurredAtMs < sinceMs)
  return {
    items: items.filter(({ occurredAtMs }) => occurredAtMs >= sinceMs && occurredAtMs <= untilMs),
    next: isPastWindow ? undefined : nextPage(answer, 'cursor'),
  }
}

async function readDelivery(
  api: ProviderApi,
  path: string,
  { guid, event }: { readonly guid: string; readonly event: string },
): Promise<ListedDelivery | undefined> {
  const answer = await api.find(path)
  if (answer === undefined) return undefined
  const { headers, payload } = shaped(deliverySchema, answer, 'the delivery').request
  if (payload === null || payload === undefined) return undefined
  const pairs = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    value === null ? [] : [[name, String(value)] as const],
  )
  const names = new Set(pairs.map(([name]) => name.toLowerCase()))
  // A delivery always has both headers: the event key and the type are read from them.
  if (!names.has('x-github-delivery')) pairs.push(['X-GitHub-Delivery', guid])
  if (!names.has('x-github-event')) pairs.push(['X-GitHub-Event', event])
  const json = membersOf(membersOf(answer.text).get('request') ?? '').get('payload') ?? ''
  const isForm = pairs.some(
    ([name, value]) => name.toLowerCase() === 'content-type' && value.includes('x-www-form-urlencoded'),
  )
  return { headers: pairs, body: Buffer.from(isForm ? `payload=${encodeURIComponent(json)}` : json) }
}
