import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import { type KeyStore, redisKeys } from '../../src/keys/index.ts'
import { keyedServer } from '../support/keyed-server.ts'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts'
import { countRoundTrips } from '../support/round-trips.ts'

let server: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  server = await startRedis()
  cluster = await startRedisCluster()
})
afterAll(() => Promise.all([server.remove(), cluster.remove()]))

/** The same store over every client that it works with. */
const clients: Record<string, () => Promise<{ store: KeyStore; close: () => unknown }>> = {
  async 'a URL'() {
    const store = redisKeys({ url: server.url })
    return { store, close: () => store.close() }
  },
  async ioredis() {
    const client = new Redis(server.url)
    return { store: redisKeys({ client }), close: () => client.disconnect() }
  },
  async 'the package redis'() {
    const client = await createClient({ url: server.url }).connect()
    return { store: redisKeys({ client }), close: () => client.destroy() }
  },
  async 'a cluster of ioredis'() {
    const client = new Cluster([...cluster.nodes])
    return { store: redisKeys({ client }), close: () => client.disconnect() }
  },
  async 'a cluster of the package redis'() {
    const rootNodes = cluster.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }))
    const client = await createCluster({ rootNodes }).connect()
    return { store: redisKeys({ client }), close: () => client.destroy() }
  },
}

describe.each(Object.entries(clients))('the contract of key stores, in Redis, by %s', (_, open) => {
  let opened: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())
  for (const { name, run } of keyStoreContract(['steps'])) test(name, () => run(opened.store))
})

test('on the wire a first request is two round trips, and a replay one', async () => {
  const trips = await countRoundTrips(server.url)
  const store = redisKeys({ url: trips.url })
  onTestFinished(() => store.close())
  const app = await keyedServer((_request, response) => response.end('done'), { store })
  await app.post('warm')
  await app.post('warm')
  trips.taken()
  expect((await app.post('one')).status).toBe(200)
  expect(trips.taken()).toBe(2)
  expect((await app.post('one')).headers.get('idempotent-replayed')).toBe('true')
  expect(trips.taken()).toBe(1)
})
