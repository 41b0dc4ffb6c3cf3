import type { IncomingMessage, ServerResponse } from 'node:http'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { type KeyStore, keyContext, memoryKeys, nodeKeys, postgresKeys } from '../../../src/keys/index.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { type TestKeys, testKeys } from '../../../src/testing/index.ts'

const ORDERS = 'create table orders (id serial primary key, sku text not null)'

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(ORDERS)
  await client.end()
}

/** Inserts an order outside of the key's transaction, as most handlers do. */
function orders(store: KeyStore, database: string) {
  const pool = quietPool(new pg.Pool({ connectionString: database, max: 4 }))
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return nodeKeys({ store, tenant: 'global', lockMs: 1_000, onCrash: 'reexecute' })(
    async (_: IncomingMessage, response: ServerResponse) => {
      const { rows } = await pool.query(`insert into orders (sku) values ('a') returning id`)
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(rows[0]))
    },
  )
}

async function keyKit(): Promise<TestKeys> {
  const k = await testKeys(orders, {
    store: (database) => postgresKeys({ database }),
    server: inject('serverUrl'),
    setup,
    setupVersion: ORDERS,
  })
  onTestFinished(() => k.close())
  return k
}

test('one order for repeated and concurrent requests, and after a lost reply', async () => {
  const k = await keyKit()
  const { replies } = await k.send({ times: 2 })
  expect(replies.map(({ status, isReplayed }) => [status, isReplayed])).toEqual([
    [201, false],
    [201, true],
  ])
  expect(replies[0]?.body).toBe(replies[1]?.body)
  await k.send({ times: 4, concurrently: true })
  const lost = await k.send({ loseReply: true })
  expect(lost.replies.map(({ status }) => status)).toEqual([undefined, 201])
  expect(lost.reply.isReplayed).toBe(true)
  expect(await k.rows('orders')).toHaveLength(3)
})

test('a crash before the reply is sent: the next process replays the stored reply', async () => {
  const k = await keyKit()
  k.crashAt('reply')
  const { replies } = await k.send()
  expect(replies.map(({ status, isReplayed }) => [status, isReplayed])).toEqual([
    [undefined, false],
    [201, true],
  ])
  expect(await k.rows('orders')).toHaveLength(1)
})

test('a crash between work and record shows that this handler does its work twice', async () => {
  const k = await keyKit()
  k.crashAt('handler')
  const first = await k.send({ key: 'order-1' })
  expect(first.replies.map(({ status }) => status)).toEqual([undefined, 409])
  await k.clock.advance('1m')
  const second = await k.send({ key: 'order-1' })
  expect(second.reply).toMatchObject({ status: 201, isReplayed: false })
  // The handler may run again after a crash, and writes outside of its key's transaction.
  expect(await k.rows('orders')).toHaveLength(2)
})

test.each(['handler', 'reply'] as const)(
  'a process that is frozen at %s past its lock changes nothing when it continues',
  async (at) => {
    const k = await keyKit()
    const frozen = k.freeze({ at })
    const first = await k.send({ key: 'order-1' })
    // The next process must not run the handler while the lock may still be held.
    const answered = at === 'handler' ? [undefined, 409] : [undefined, 201]
    expect(first.replies.map(({ status }) => status)).toEqual(answered)
    await k.clock.advance('1m')
    const second = await k.send({ key: 'order-1' })
    expect(second.reply.status).toBe(201)
    frozen.thaw()
    const third = await k.send({ key: 'order-1' })
    expect(third.reply).toMatchObject({ body: second.reply.body, isReplayed: true })
    expect(await k.rows('orders')).toHaveLength(at === 'handler' ? 2 : 1)
  },
)

test('the recorded step of a dead process is not repeated: the service is called once', async () => {
  const k = await testKeys((store, _, { downstream }) =>
    nodeKeys({ store, tenant: 'global', lockMs: 1_000, handler: 'resumable' })(async (request, response) => {
      await keyContext(request).step('mail', async ({ idempotencyKey }) => {
        const headers = { 'idempotency-key': idempotencyKey }
        await fetch(`${downstream.url}/mails`, { method: 'POST', headers })
      })
      response.end('sent')
    }),
  )
  onTestFinished(() => k.close())
  k.crashAt('handler')
  await k.send({ key: 'order-1' })
  await k.clock.advance('1m')
  expect((await k.send({ key: 'order-1' })).reply).toMatchObject({ body: 'sent', isReplayed: false })
  expect(k.downstream.at('/mails')).toMatchObject({ happened: 1, calls: [{ acted: true }] })
})

test('a point that no request reaches fails the test', async () => {
  const k = await testKeys((store) =>
    nodeKeys({ store, tenant: 'global' })((_, response) => response.end('ok')),
  )
  const frozen = k.freeze({ at: 'reply' })
  expect(() => frozen.thaw()).toThrow(/freeze\({ at: 'reply' }\) was not reached yet/)
  await expect(k.close()).rejects.toThrow(/freeze\({ at: 'reply' }\) was never reached/)
})

test('without a database the keys are in memory, and time moves there too', async () => {
  let runs = 0
  const k = await testKeys((store) =>
    nodeKeys({ store, tenant: 'global', ttlMs: 3_600_000 })((_, response) => {
      runs += 1
      response.end(String(runs))
    }),
  )
  onTestFinished(() => k.close())
  const first = await k.send({ key: 'k' })
  expect((await k.send({ key: 'k' })).reply.body).toBe(first.reply.body)
  await k.clock.advance('2h')
  expect((await k.send({ key: 'k' })).reply).toMatchObject({ body: '2', isReplayed: false })
  expect(() => k.rows('orders')).toThrow('there is no database')
})

test('processes share a store of your own: after a crash the next one replays, and the kit does not close it', async () => {
  const store = memoryKeys()
  let runs = 0
  const k = await testKeys(
    (hosted) =>
      nodeKeys({ store: hosted, tenant: 'global' })((_, response) => {
        runs += 1
        response.end(String(runs))
      }),
    { store },
  )
  k.crashAt('reply')
  const { replies, key } = await k.send()
  expect(replies.map(({ status, isReplayed }) => [status, isReplayed])).toEqual([
    [undefined, false],
    [200, true],
  ])
  await expect(k.clock.advance('1h')).rejects.toThrow('has a clock of its own')
  await k.close()
  const after = await testKeys(
    (hosted) => nodeKeys({ store: hosted, tenant: 'global' })((_, response) => response.end('never')),
    { store },
  )
  onTestFinished(() => after.close())
  expect((await after.send({ key })).reply).toMatchObject({ body: '1', isReplayed: true })
  expect(runs).toBe(1)
})
