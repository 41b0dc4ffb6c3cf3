import type { RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { expect, test } from 'vitest'
import { POST } from '../app/webhooks/[source]/route.ts'
import { createHooks } from '../src/create-hooks.ts'
import { CREATE_TABLES } from '../src/tables.ts'

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(CREATE_TABLES)
  await client.end()
}

/** Calls the route as Next.js does. */
const route: RequestListener = async (request, response) => {
  const { method = 'POST', headers } = request
  const answer = await POST(
    new Request(`http://localhost${request.url}`, {
      method,
      headers: headers as Record<string, string>,
      body: new Uint8Array(await buffer(request)),
    }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}

const start = () =>
  testHooks(
    (database) => {
      const hooks = createHooks({ database, shopifySecret: 'secret' })
      globalThis.shopHooks = hooks // the instance that the route uses
      return { hooks, app: route }
    },
    { setup },
  )

const order = { id: 7, line_items: [{ sku: 'mug', quantity: 2 }] }
const stock = [
  { sku: 'mug', quantity: 98 },
  { sku: 'shirt', quantity: 50 },
]

test('Shopify delivers five times at once: the stock is reduced once', async () => {
  await using t = await start()
  const delivered = await t.deliver('shopify', 'orders/paid', order, { times: 5, concurrently: true })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('stock')).toEqual(stock)
})

test('two subscriptions report the same order: the stock is reduced once', async () => {
  await using t = await start()
  await t.deliver('shopify', 'orders/paid', order)
  await t.deliver('shopify', 'orders/paid', order)
  await t.settled()
  expect(await t.rows('stock')).toEqual(stock)
  expect((await t.jobs()).map(({ state }) => state)).toEqual(['processed', 'processed'])
})

test.each<CrashPoint>(['write', 'commit', 'ack'])(
  'the process dies at %s: the stock is reduced once',
  async (point) => {
    await using t = await start()
    t.crashAt(point)
    await t.deliver('shopify', 'orders/paid', order)
    await t.settled()
    expect(await t.rows('stock')).toEqual(stock)
  },
)

test('a worker freezes in the middle, and another one takes over: the stock is reduced once', async () => {
  await using t = await start()
  const frozen = await t.freeze({ at: 'write' })
  await t.deliver('shopify', 'orders/paid', order)
  await t.settled()
  frozen.thaw()
  await t.settled()
  expect(await t.rows('stock')).toEqual(stock)
})

test('a delivery with a wrong signature changes nothing', async () => {
  await using t = await start()
  const forged = await t.deliver('shopify', 'orders/paid', order, { tamper: 'body' })
  expect(forged).toBeRefusedWith('SIGNATURE_MISMATCH')
  expect(await t.rows('orders')).toEqual([])
})
