import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import { type KeyStore, redisKeys } from '../../src/keys/index.ts'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts'

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
  test.each(keyStoreContract(['steps']))('$name', ({ run }) => run(opened.store))
})
