import { expect, onTestFinished, test } from 'vitest'
import { hookonce, type ReconcileOptions } from '../../../src/index.ts'
import { shopify } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { jobsAre } from '../../support/jobs.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import {
  API_KEY,
  type RecordedApi,
  shopifyApi,
  shopifyOrder,
  shopifyTime,
} from '../../support/provider-api.ts'

const SECRET = 'a client secret'
const SHOP = 'example.myshopify.com'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

const NOW = Date.now()
/** Hours ago. The window is a day. */
const ORDERS = [
  // Created and changed in the window. Its creation arrived, its change did not.
  { id: 101, created: 12, updated: 10 },
  // Nothing about it arrived.
  { id: 102, created: 9, updated: 9 },
  // Older than the window. Its latest change arrived.
  { id: 103, created: 100, updated: 8 },
  // Shopify may still deliver it.
  { id: 104, created: 1, updated: 1 },
]

function shopifyHooks(db: TestDatabase) {
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    sources: { shopify: shopify({ secret: SECRET }) },
    logger: SILENT,
    pollMs: 20,
    maxConnections: 4,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

function optionsOf(api: RecordedApi, more: Partial<ReconcileOptions> = {}): ReconcileOptions {
  const since = new Date(NOW - 24 * 3_600_000)
  return { apiKey: API_KEY, apiUrl: api.url, shop: SHOP, since, types: ['orders/*'], ...more }
}

interface OrderDelivery {
  readonly topic: string
  readonly order: (typeof ORDERS)[number]
  readonly webhookId: string
  readonly triggered: number
}

async function deliver(
  hooks: ReturnType<typeof shopifyHooks>,
  { topic, order, webhookId, triggered }: OrderDelivery,
): Promise<Response> {
  const body = JSON.stringify(shopifyOrder({ ...order, updated: triggered }, NOW))
  const headers = {
    ...shopify({ secret: SECRET }).sign({ body }),
    'x-shopify-topic': topic,
    'x-shopify-webhook-id': webhookId,
    'x-shopify-triggered-at': shopifyTime(triggered, NOW),
  }
  return hooks.fetch(new Request('http://app.test/in/shopify', { method: 'POST', body, headers }))
}

const [CHANGED, UNHEARD, KNOWN] = ORDERS as [
  OrderDelivery['order'],
  OrderDelivery['order'],
  OrderDelivery['order'],
]

async function deliverSome(db: TestDatabase, hooks: ReturnType<typeof shopifyHooks>): Promise<void> {
  await deliver(hooks, { topic: 'orders/create', order: CHANGED, webhookId: 'w-1', triggered: 12 })
  await deliver(hooks, { topic: 'orders/updated', order: KNOWN, webhookId: 'w-2', triggered: 8 })
  // As if they had arrived in time.
  await db.rows('update hookonce.receipt set received_at = occurred_at')
}

test('missing changes are reported, and recorded only on request', async () => {
  const db = await freshDatabase()
  const api = await shopifyApi(ORDERS, NOW)
  const runs: string[] = []
  const hooks = shopifyHooks(db)
  hooks.on('shopify', 'orders/*', (event) => void runs.push(event.key))
  await deliverSome(db, hooks)

  const report = await hooks.reconcile('shopify', optionsOf(api))
  expect(report).toMatchObject({
    mode: 'report',
    listed: 4,
    arrived: 1,
    missing: 3,
    recorded: 0,
    stopped: undefined,
  })
  expect(report.events.map(({ key, outcome }) => [key, outcome])).toEqual([
    [`reconciled:orders/updated:101:${shopifyTime(10, NOW)}`, 'missing'],
    ['reconciled:orders/create:102', 'missing'],
    ['reconciled:orders/create:104', 'early'],
  ])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)

  await hooks.start()
  const recorded = await hooks.reconcile('shopify', optionsOf(api, { mode: 'record' }))
  await jobsAre(db, 'processed', 4)
  expect(recorded).toMatchObject({ missing: 3, recorded: 2 })
  expect(
    await db.rows(
      `select event_type as type, object_id as object from hookonce.receipt where secret = 0 order by 2`,
    ),
  ).toEqual([
    { type: 'orders/updated', object: '101' },
    { type: 'orders/create', object: '102' },
  ])

  const again = await hooks.reconcile('shopify', optionsOf(api, { mode: 'record' }))
  expect(again).toMatchObject({ arrived: 3, missing: 1, recorded: 0, events: [{ outcome: 'early' }] })
  expect(runs).toHaveLength(4)
})

test('a late delivery of a recorded change is a second event, and an effect that is keyed by the object happens once', async () => {
  const db = await freshDatabase()
  const api = await shopifyApi(ORDERS, NOW)
  const shipped: string[] = []
  const news: boolean[] = []
  const hooks = shopifyHooks(db)
  hooks.on('shopify', 'orders/create', async (event, ctx) => {
    await ctx.effect(`ship:${event.objectId}`, async () => void shipped.push(String(event.objectId)))
    await ctx.latest(`order:${event.objectId}`, event.version, async () => void news.push(true), {
      tie: 'skip',
    })
  })
  await hooks.start()
  await hooks.reconcile('shopify', optionsOf(api, { mode: 'record', types: ['orders/create'] }))
  await jobsAre(db, 'processed', 2)
  expect(shipped.sort()).toEqual(['101', '102'])

  const late = await deliver(hooks, {
    topic: 'orders/create',
    order: UNHEARD,
    webhookId: 'w-9',
    triggered: 9,
  })
  expect(late.status).toBe(202)
  await jobsAre(db, 'processed', 3)
  expect(shipped).toHaveLength(2)
  expect(news).toHaveLength(2)
})

test('Shopify sends seconds with a fraction, and its pages are followed by their cursors', async () => {
  const db = await freshDatabase()
  const api = await shopifyApi(ORDERS, NOW)
  api.fault = (_url, count) =>
    count === 2
      ? { status: 429, headers: { 'retry-after': '0.1' }, body: '{"errors":"Exceeded 2 calls"}' }
      : undefined
  const waits: number[] = []
  const hooks = shopifyHooks(db)
  hooks.on('shopify', 'orders/*', () => undefined)
  const report = await hooks.reconcile(
    'shopify',
    optionsOf(api, { onProgress: ({ wait }) => void (wait && waits.push(wait.waitMs)) }),
  )
  expect(report).toMatchObject({ listed: 4, stopped: undefined })
  expect(waits).toEqual([100])
  expect(api.requests.at(-1)).toBe('GET /admin/api/2025-10/orders.json?limit=250&page_info=2')
})

test('an expired cursor ends the run with a report of its work', async () => {
  const db = await freshDatabase()
  const api = await shopifyApi(ORDERS, NOW)
  api.fault = (url) =>
    url.searchParams.has('page_info')
      ? { status: 400, body: '{"errors":{"page_info":"Invalid value."}}' }
      : undefined
  const hooks = shopifyHooks(db)
  hooks.on('shopify', 'orders/*', () => undefined)
  const report = await hooks.reconcile('shopify', optionsOf(api, { mode: 'record' }))
  expect(report).toMatchObject({ recorded: 2, stopped: { reason: 'failed' } })
  expect(report.stopped?.message).toContain('Invalid value.')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})
