import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from './listening-server.ts'

/*
 * The APIs that reconciliation reads, on a real server: recorded answers in the documented shapes,
 * with the providers' pagination. A test can replace one answer by a fault.
 */

export interface RecordedApi {
  readonly url: string
  /** Method, path and query of each request. */
  readonly requests: string[]
  readonly headers: IncomingHttpHeaders[]
  /** Called for each request. A fault that it returns is sent instead of the answer. */
  fault: (url: URL, count: number) => Fault | undefined | Promise<Fault | undefined>
}

export interface Fault {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text, or a value. */
  readonly body: unknown
}

export const API_KEY = 'sk_test_of_the_recorded_api'

type Respond = (url: URL, origin: string) => Answer | undefined

async function recordedApi(
  authorized: (request: IncomingMessage) => boolean,
  respond: Respond,
): Promise<RecordedApi> {
  const requests: string[] = []
  const seenHeaders: IncomingHttpHeaders[] = []
  const api: { -readonly [Name in keyof RecordedApi]: RecordedApi[Name] } = {
    url: '',
    requests,
    headers: seenHeaders,
    fault: () => undefined,
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', api.url)
    requests.push(`${request.method} ${decodeURIComponent(url.pathname + url.search)}`)
    seenHeaders.push(request.headers)
    const fault = await api.fault(url, requests.length)
    if (fault) return void response.writeHead(fault.status, fault.headers).end(fault.body ?? '')
    if (!authorized(request))
      return void response.writeHead(401).end(`{"error":"Invalid key: ${request.headers.authorization}"}`)
    const {
      status = 200,
      headers = {},
      body,
    } = respond(url, api.url) ?? { status: 404, body: { message: 'Not Found' } }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body, null, 2))
  }
  api.url = await listening(createServer((request, response) => void answer(request, response)))
  return api
}

const bearer = ({ headers }: IncomingMessage): boolean => headers.authorization === `Bearer ${API_KEY}`

export interface RecordedStripeEvent {
  readonly id: string
  readonly type: string
  /** Seconds ago. */
  readonly age: number
  readonly invoice?: string
}

/** In the rendering of GET /v1/events: `pending_webhooks` differs from that of a delivery. */
export function stripeEvent(
  { id, type, age, invoice = `in_${id}` }: RecordedStripeEvent,
  pending = 1,
): string {
  const created = Math.floor(Date.now() / 1_000) - age
  const event = {
    id,
    object: 'event',
    api_version: '2024-06-20',
    created,
    data: { object: { id: invoice, object: 'invoice', amount_paid: 'AMOUNT', status: 'paid' } },
    livemode: false,
    pending_webhooks: pending,
    request: { id: null, idempotency_key: null },
    type,
  }
  // An integer that JavaScript cannot hold.
  return JSON.stringify(event, null, 2).replace('"AMOUNT"', '12345678901234567890')
}

/** Events, newest first. Small pages, so that a test needs few events. */
export function stripeApi(events: readonly RecordedStripeEvent[], pageSize = 2): Promise<RecordedApi> {
  const now = Math.floor(Date.now() / 1_000)
  const newestFirst = events.toSorted((a, b) => a.age - b.age)
  return recordedApi(bearer, ({ pathname, searchParams }) => {
    if (pathname === '/v1/webhook_endpoints/we_app')
      return {
        body: {
          id: 'we_app',
          object: 'webhook_endpoint',
          api_version: null,
          enabled_events: ['invoice.paid'],
          status: 'enabled',
        },
      }
    if (pathname !== '/v1/events') return undefined
    const types = [...searchParams].flatMap(([name, value]) => (/^types\[\d*\]$/.test(name) ? [value] : []))
    const listed = newestFirst.filter(
      ({ age, type }) =>
        now - age >= Number(searchParams.get('created[gte]')) && (types.length === 0 || types.includes(type)),
    )
    const after = searchParams.get('starting_after')
    const position = listed.findIndex(({ id }) => id === after)
    if (after !== null && position < 0)
      return {
        status: 400,
        body: { error: { code: 'resource_missing', message: `No such event: '${after}'` } },
      }
    const page = listed.slice(position + 1, position + 1 + pageSize)
    const more = position + 1 + pageSize < listed.length
    const data = page.map((event) => stripeEvent(event)).join(',\n')
    return { body: `{ "object": "list", "data": [${data}], "has_more": ${more}, "url": "/v1/events" }` }
  })
}

export interface RecordedGitHubDelivery {
  readonly id: string
  readonly guid: string
  readonly event: string
  readonly action?: string
  /** Seconds ago. */
  readonly age: number
  readonly status?: number
  readonly form?: boolean
  readonly redelivery?: boolean
}

export function githubPayload({ action, guid }: Pick<RecordedGitHubDelivery, 'action' | 'guid'>): string {
  const actionText = action === undefined ? '' : `"action":${JSON.stringify(action)},`
  return `{${actionText}"issue":{"id":73464126073464126073,"title":"of ${guid}"},"repository":{"id":35129377,"full_name":"octo/app"}}`
}

/** The deliveries of one hook, newest first. `/deliveries/{id}` has headers and payload. */
export function githubApi(
  deliveries: readonly RecordedGitHubDelivery[],
  path = '/repos/octo/app/hooks/42',
  pageSize = 2,
): Promise<RecordedApi> {
  const now = Date.now()
  const newestFirst = deliveries.toSorted((a, b) => a.age - b.age)
  const item = ({
    id,
    guid,
    event,
    action,
    age,
    status = 502,
    redelivery = false,
  }: RecordedGitHubDelivery): string =>
    `{"id":${id},"guid":"${guid}","delivered_at":"${new Date(now - age * 1_000).toISOString()}","redelivery":${redelivery},"duration":0.03,"status":"${status === 200 ? 'OK' : 'failed to connect'}","status_code":${status},"event":"${event}","action":${JSON.stringify(action ?? null)},"installation_id":null,"repository_id":35129377,"throttled_at":null`
  return recordedApi(bearer, ({ pathname, searchParams }, origin) => {
    const one = newestFirst.find(({ id }) => pathname === `${path}/deliveries/${id}`)
    if (one) {
      const type = one.form ? 'application/x-www-form-urlencoded' : 'application/json'
      const headers = `{"X-GitHub-Delivery":"${one.guid}","X-GitHub-Event":"${one.event}","X-GitHub-Hook-ID":"42","User-Agent":"GitHub-Hookshot/b8c71d8","content-type":"${type}"}`
      return {
        body: `${item(one)},"url":"","request":{"headers":${headers},"payload":${githubPayload(one)}},"response":{"headers":{},"payload":""}}`,
      }
    }
    if (pathname !== `${path}/deliveries`) return undefined
    const begin = Number((searchParams.get('cursor') ?? 'v1_0').slice(3))
    const page = newestFirst.slice(begin, begin + pageSize)
    const next = begin + pageSize
    const link = `<${origin}${path}/deliveries?per_page=100&cursor=v1_${next}>; rel="next"`
    return {
      headers: next < newestFirst.length ? { link } : {},
      body: `[${page.map((each) => `${item(each)}}`).join(',')}]`,
    }
  })
}

export interface RecordedOrder {
  readonly id: number
  /** Hours ago. */
  readonly created: number
  readonly updated: number
}

export function shopifyTime(hoursAgo: number, now = Date.now()): string {
  return `${new Date(now - hoursAgo * 3_600_000).toISOString().slice(0, 19)}+00:00`
}

/** GET /admin/api/{version}/orders.json, with cursors in the Link header. */
export function shopifyApi(
  orders: readonly RecordedOrder[],
  now = Date.now(),
  pageSize = 2,
): Promise<RecordedApi> {
  return recordedApi(
    ({ headers }) => headers['x-shopify-access-token'] === API_KEY,
    ({ pathname, searchParams }, origin) => {
      if (pathname !== '/admin/api/2025-10/orders.json') return undefined
      const cursor = searchParams.get('page_info')
      if (cursor !== null && searchParams.has('status'))
        return {
          status: 400,
          body: { errors: { status: 'status cannot be passed when page_info is present.' } },
        }
      const begin = Number(cursor ?? '0')
      const next = begin + pageSize
      const link = `<${origin}${pathname}?limit=250&page_info=${next}>; rel="next"`
      return {
        headers: next < orders.length ? { link } : {},
        body: { orders: orders.slice(begin, next).map((order) => shopifyOrder(order, now)) },
      }
    },
  )
}

export function shopifyOrder({ id, created, updated }: RecordedOrder, now: number): object {
  return {
    id,
    admin_graphql_api_id: `gid://shopify/Order/${id}`,
    created_at: shopifyTime(created, now),
    updated_at: shopifyTime(updated, now),
    financial_status: 'paid',
    total_price: '403.00',
  }
}
