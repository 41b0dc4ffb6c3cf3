import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { expect, test } from 'vitest'
import { chargeHooks } from './charge-once.ts'

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query('create table charges (order_id bigint primary key, charge text not null)')
  await client.end()
}

async function start() {
  const t = await testHooks((database, { downstream }) => chargeHooks(database, 'a secret', downstream.url), {
    setup,
  })
  t.downstream.reply('/charges', { body: { id: 'ch_1' } })
  return t
}

const order = { id: 7, total_price: '19.00', currency: 'EUR' }

test('five copies at once: one charge', async () => {
  await using t = await start()
  await t.deliver('shopify', 'orders/create', order, { times: 5, concurrently: true })
  await t.settled()
  expect(t.downstream.at('/charges')).toHaveHappenedOnce()
  expect(await t.rows('charges')).toEqual([{ order_id: '7', charge: 'ch_1' }])
})

test('two events of one order: one charge', async () => {
  await using t = await start()
  await t.deliver('shopify', 'orders/create', order)
  await t.deliver('shopify', 'orders/updated', order)
  await t.settled()
  expect(t.downstream.at('/charges')).toHaveHappenedOnce()
})

test.each<CrashPoint>(['ack', 'effect:charge:7', 'write', 'commit'])(
  'the process dies at %s: one charge',
  async (point) => {
    await using t = await start()
    t.crashAt(point)
    await t.deliver('shopify', 'orders/create', order)
    await t.settled()
    expect(t.downstream.at('/charges')).toHaveHappenedOnce()
    expect(await t.rows('charges')).toHaveLength(1)
  },
)
