import { z } from 'zod'
import { DAY_MS, SECOND_MS } from '../model/durations.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import { type ProviderApi, shaped } from './api.ts'
import type { ListedEvent, ListWindow, OpenList, ProviderList } from './contract.ts'
import { elementsOf, membersOf } from './json-text.ts'
import { oldestFirst } from './newest-first.ts'
import type { StripeListOptions } from './options.ts'

/*
 * GET /v1/events lists the events of the last 30 days, newest first, at most a hundred per page.
 * Each event is rendered in the API version that the account had when the event was created. An
 * endpoint may have another version.
 */

const PAGE_SIZE = 100
/** The largest number of types that the API accepts. */
const MAX_TYPES = 20

const pageSchema = z.object({
  has_more: z.boolean(),
  data: z.array(z.object({ id: z.string().min(1), type: z.string().min(1), created: z.number() })),
})

const endpointSchema = z.object({
  enabled_events: z.array(z.string()),
  status: z.string(),
  api_version: z.string().nullish(),
})

export const stripeList: ProviderList<StripeListOptions> = {
  name: 'Stripe',
  apiUrl: () => 'https://api.stripe.com',
  headers: ({ apiKey, account }) => ({
    authorization: `Bearer ${apiKey}`,
    ...(account === undefined ? {} : { 'stripe-account': account }),
  }),
  listsMs: 30 * DAY_MS,
  defaultMode: 'record',
  settlesMs: 0,
  narrowBy: 'the id of your webhook endpoint as `endpoint` (--endpoint we_…), or `types` (--type)',
  async open(api, window, options) {
    const { notes, sends } = await endpointOf(api, options)
    return {
      notes: [
        "Stripe lists each event in the account's API version of when it was created. An endpoint with a version of its own gets another rendering.",
        ...notes,
      ],
      sends,
      pages: { of: 'events', read: () => oldestFirst((cursor) => readPage(api, window, options, cursor)) },
    }
  },
}

/**
 * The list has every event of the account. The endpoint receives only the types that it enables.
 */
async function endpointOf(
  api: ProviderApi,
  { endpoint }: StripeListOptions,
): Promise<Pick<OpenList, 'notes' | 'sends'>> {
  if (endpoint === undefined) return { notes: [] }
  const answer = await api.get(`/v1/webhook_endpoints/${encodeURIComponent(endpoint)}`)
  const {
    enabled_events: enabled,
    status,
    api_version: version,
  } = shaped(endpointSchema, answer, 'the endpoint')
  const matchers = enabled.map(typeMatcher)
  const notes =
    status === 'enabled' ? [] : [`The endpoint ${endpoint} is ${status}: Stripe sends it nothing.`]
  if (version) notes.push(`The endpoint ${endpoint} renders its deliveries in version ${version}.`)
  return { notes, sends: (type) => matchers.some((matches) => matches(type)) }
}

async function readPage(
  api: ProviderApi,
  { sinceMs, untilMs, types = [] }: ListWindow,
  { account }: StripeListOptions,
  cursor: string | undefined,
): Promise<{ items: readonly ListedEvent[]; next: string | undefined }> {
  const filter = types.length <= MAX_TYPES ? types : []
  const answer = await api.get('/v1/events', {
    limit: String(PAGE_SIZE),
    'created[gte]': String(Math.floor(sinceMs / SECOND_MS)),
    'created[lte]': String(Math.floor(untilMs / SECOND_MS)),
    ...Object.fromEntries(filter.map((type, index) => [`types[${index}]`, type])),
    ...(cursor === undefined ? {} : { starting_after: cursor }),
  })
  const page = shaped(pageSchema, answer, 'the list of events')
  const texts = elementsOf(membersOf(answer.text).get('data') ?? '')
  const items = page.data.map(({ id, type, created }, index) => {
    const body = Buffer.from(withAccount(texts[index] ?? '', account))
    return {
      key: id,
      type,
      occurredAtMs: created * SECOND_MS,
      read: async () => ({ headers: [['content-type', 'application/json; charset=utf-8']] as const, body }),
    }
  })
  return { items, next: page.has_more ? page.data.at(-1)?.id : undefined }
}

/** Deliveries for a connected account name the account. The list of that account may not. */
function withAccount(event: string, account: string | undefined): string {
  if (account === undefined || membersOf(event).has('account')) return event
  return `{"account":${JSON.stringify(account)},${event.slice(1)}`
}
