import { expect, test } from 'vitest'
import { cli } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { startNextApp, startNextExample } from '../support/next-app.ts'
import { SENDER, signed } from '../support/source.ts'
import { until } from '../support/until.ts'

/** The first installation of Next.js takes long. */
const LIMIT_MS = 300_000

test.each([15, 16])(
  'Next.js %i: webhooks in both routers, and idempotency keys of route handlers',
  async (major) => {
    const db = await freshDatabase()
    const url = await startNextApp(major, { DATABASE_URL: db.url, SENDER: JSON.stringify(SENDER) })

    // With spaces, because JSON.stringify of the parsed body would drop them and break the
    // signature.
    const event = signed('{ "id": "evt_1",  "type": "a" }')
    const deliver = (path: string) =>
      fetch(`${url}${path}/test`, {
        ...event,
        headers: { ...event.headers, 'content-type': 'application/json' },
      })
    const statuses = []
    for (const path of ['/webhooks', '/webhooks', '/api/webhooks', '/api/parsed'])
      statuses.push((await deliver(path)).status)
    expect(statuses).toEqual([202, 200, 200, 500])
    expect((await fetch(`${url}/webhooks/test`)).status).toBe(405)
    const receipts = await db.rows<{ body: Buffer }>('select body from hookonce.receipt')
    expect(receipts.map(({ body }) => String(body))).toEqual([event.body])

    const post = (key: string, body: object, user = 'anna') =>
      fetch(`${url}/api/orders/berlin`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'idempotency-key': key, cookie: `user=${user}` },
      })

    const first = await post('one', { n: 1 })
    const second = await post('one', { n: 1 })
    expect([first.status, second.status]).toEqual([201, 201])
    const body = await first.text()
    expect(JSON.parse(body)).toEqual({
      order: { n: 1 },
      shop: 'berlin',
      path: '/api/orders/berlin',
      charge: 'ch_1',
      runs: 1,
    })
    expect(await second.text()).toBe(body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('location')).toBe('/orders/7')
    expect([first, second].map(({ headers }) => headers.getSetCookie())).toEqual([['session=secret'], []])
    expect((await post('one', { n: 2 })).status).toBe(422)
    expect(await (await post('one', { n: 1 }, 'ben')).json()).toMatchObject({ runs: 2 })

    expect((await post('two', { fail: true })).status).toBe(500)
    const unknown = await post('two', { fail: true })
    expect([unknown.status, await unknown.json()]).toMatchObject([
      409,
      { type: 'urn:hookonce:problem:outcome-unknown' },
    ])
  },
  LIMIT_MS,
)

test(
  'the example next-shopify, built and started by Next.js, reduces the stock once for two deliveries',
  async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url, SHOPIFY_WEBHOOK_SECRET: 'try' }
    const url = await startNextExample(env)
    // The command of its README.
    const items = 'line_items=[{"sku":"mug","quantity":2}]'
    const order = ['shopify', 'orders/paid', '--set', 'id=7', '--set', items]
    const sent = await cli(
      ['trigger', ...order, '--times', '2', '--url', `${url}/webhooks/shopify`, '--json'],
      env,
    )
    expect(sent).toMatchObject({ code: 0 })
    await until('the order is processed', () =>
      db.number(`select count(*) from hookonce.job where state = 'processed'`),
    )
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
    expect(await db.rows('select sku, quantity from stock order by sku')).toEqual([
      { sku: 'mug', quantity: 98 },
      { sku: 'shirt', quantity: 50 },
    ])
    expect(await (await fetch(url)).text()).toMatch(/mug(<!-- -->)?: (<!-- -->)?98/)
  },
  LIMIT_MS,
)
