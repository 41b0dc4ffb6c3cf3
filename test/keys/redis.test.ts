import { randomUUID } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import type { AcquireRequest } from '../../src/keys/decide.ts'
import { keyId } from '../../src/keys/identity.ts'
import { type KeyStore, once, redisKeys } from '../../src/keys/index.ts'
import type { KeyId } from '../../src/keys/store.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { until } from '../support/until.ts'

let server: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  server = await startRedis()
  cluster = await startRedisCluster()
})
afterAll(() => Promise.all([server.remove(), cluster.remove()]))

/** The same store over every supported client. */
const clients: Record<string, () => Promise<{ store: KeyStore; close: () => unknown }>> = {
  async 'a URL'() {
    const store = redisKeys({ url: server.url })
    return { store, close: () => store.close() }
  },
  async ioredis() {
    const client = new Redis(server.url)
    return { store: redisKeys({ client }), close: () => client.disconnect() }
  },
  async 'ioredis with numbers as digits'() {
    const client = new Redis(server.url, { stringNumbers: true })
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

/** The scripts must also run on Redis 6.2, whose SET cannot combine NX and GET. */
clients['a client whose server hides that it is 7.0'] = async () => {
  const client = new Redis(server.url)
  const older = {
    evalsha: () => Promise.reject(new Error('never called')),
    eval: () => Promise.reject(new Error('never called')),
    evalshaBuffer: () => Promise.reject(new Error('NOSCRIPT')),
    evalBuffer: (text: string, keys: number, ...args: (string | Buffer)[]) =>
      client.callBuffer('EVAL', text.replace('redis.REDIS_VERSION_NUM', 'nil'), keys, ...args),
  }
  return { store: redisKeys({ client: older }), close: () => client.disconnect() }
}

describe.each(Object.entries(clients))('the contract of key stores, in Redis, by %s', (_, open) => {
  let opened: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())
  for (const { name, run } of keyStoreContract(['steps', 'pledges'])) test(name, () => run(opened.store))
})

test('a label may be any text', async () => {
  const store = redisKeys({ url: server.url })
  onTestFinished(() => store.close())
  for (const label of ['half a \ud83d', 'a \0 in it', 'é 😀 %20'])
    expect(await once(store, randomUUID(), () => 1, { tenant: 'global', label })).toBe(1)
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

describe.each(Object.entries(clients))('many keys at once, by %s', (_, open) => {
  test('each gets its own answer', async () => {
    const { store, close } = await open()
    onTestFinished(() => void close())
    const ids = manyIds()
    const first = await Promise.all(ids.map((id) => store.acquire(id, request)))
    expect(first.map(({ outcome }) => outcome)).toEqual(ids.map(() => 'acquired'))
    const settled = await Promise.all(
      first.map(({ record }, n) => {
        const fence = n % 2 === 0 ? record.fence : record.fence - 1
        return store.settle(ids[n] ?? '', fence, {
          to: 'completed',
          result: Buffer.from(`${n}`),
          ttlMs: 60_000,
        })
      }),
    )
    expect(settled).toEqual(ids.map((_, n) => n % 2 === 0))
    const again = await Promise.all(ids.map((id) => store.acquire(id, { ...request, holder: 'another' })))
    expect(again.map(({ outcome, record }) => [outcome, record.result?.toString()])).toEqual(
      ids.map((_, n) => (n % 2 === 0 ? ['completed', `${n}`] : ['locked', undefined])),
    )
  })
})

test('many keys at once are one call', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  await store.acquire(keyId('calls', 'warm'), request)
  const before = await callsOf(client)
  await Promise.all(manyIds().map((id) => store.acquire(id, request)))
  expect((await callsOf(client)) - before).toBeLessThan(MANY / 10)
})

test('a fault of one key does not affect the keys in the same call', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  const ids = manyIds()
  const [spoilt = '', ...others] = ids
  await client.lpush(`hookonce:key:{${spoilt}}`, 'somebody else uses this name')
  const answers = await Promise.allSettled(ids.map((id) => store.acquire(id, request)))
  expect(answers[0]).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('WRONGTYPE') },
  })
  expect(answers.slice(1)).toEqual(
    others.map(() => expect.objectContaining({ value: expect.objectContaining({ outcome: 'acquired' }) })),
  )
})

test('an expired record counts as absent, although Redis still has it', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  const id = keyId('expired', randomUUID())
  await client.set(`hookonce:key:{${id}}`, 'completed 5 1000 1000 nothing 5 the%20same somebody\nresult')
  expect(await store.read(id)).toBeUndefined()
  expect(await store.acquire(id, request)).toMatchObject({
    outcome: 'acquired',
    record: { after: 'nothing' },
  })
  expect(await store.acquire(id, { ...request, holder: 'another' })).toMatchObject({ outcome: 'locked' })
})

test('an expired record with a fence of the future leaves its fence behind', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  const id = keyId('expired', randomUUID())
  const future = Date.now() + 1e9
  await client.set(`hookonce:key:{${id}}`, `released ${future} 1000 1000 nothing 5 the%20same somebody\n`)
  expect((await store.acquire(id, request)).record.fence).toBe(future + 1)
})

test('on the wire a released key is acquired, and a stale settle rejected, in two round trips', async () => {
  const trips = await countRoundTrips(server.url)
  const store = redisKeys({ url: trips.url })
  onTestFinished(() => store.close())
  const id = keyId('released', randomUUID())
  async function runs(): Promise<number[]> {
    const counts: number[] = []
    const { fence } = (await store.acquire(id, { ...request, holder: randomUUID() })).record
    counts.push(trips.taken())
    expect(await store.settle(id, fence - 1, { to: 'unknown', ttlMs: 60_000 })).toBe(false)
    counts.push(trips.taken())
    expect(await store.settle(id, fence, { to: 'released', ttlMs: 60_000 })).toBe(true)
    counts.push(trips.taken())
    return counts
  }
  await runs()
  await runs()
  expect(await runs()).toEqual([2, 2, 1])
})

test('a value that is not a record is not changed', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const id = keyId('foreign', randomUUID())
  await client.set(`hookonce:key:{${id}}`, 'of somebody else')
  await expect(redisKeys({ client }).acquire(id, request)).rejects.toThrow('does not hold a record')
  expect(await client.get(`hookonce:key:{${id}}`)).toBe('of somebody else')
})

test('a new life of a key begins without steps, whatever happens to the keys in the same call', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  const [id = '', spoilt = ''] = manyIds()
  await client.hset(`hookonce:key:{${id}}:steps`, 'pay', 'of an earlier life')
  await client.lpush(`hookonce:key:{${spoilt}}`, 'somebody else uses this name')
  await Promise.allSettled([id, spoilt].map((one) => store.acquire(one, request)))
  expect(await store.steps?.load(id)).toEqual(new Map())
  const { fence } = (await store.acquire(id, request)).record
  expect(await store.steps?.save(id, fence, 'mail', Buffer.from('1'))).toBe(true)
  expect([...((await store.steps?.load(id)) ?? [])].map(([name]) => name)).toEqual(['mail'])
})

test('steps expire with their record, whoever holds it and for how long', async () => {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const store = redisKeys({ client })
  const [id = ''] = manyIds()
  const name = `hookonce:key:{${id}}`
  const expiries = () => Promise.all([client.pexpiretime(name), client.pexpiretime(`${name}:steps`)])
  const seen = new Set<number>()
  async function together(): Promise<void> {
    const [record, steps] = await expiries()
    expect(steps).toBe(record)
    seen.add(record)
  }
  const { fence } = (await store.acquire(id, request)).record
  await store.steps?.save(id, fence, 'pay', Buffer.from('1'))
  await together()
  await store.extend(id, fence, { lockMs: request.lockMs, ttlMs: request.ttlMs + 1000 })
  await together()
  await store.settle(id, fence, { to: 'released', ttlMs: request.ttlMs + 2000 })
  await together()
  const next = await store.acquire(id, { ...request, holder: 'another', ttlMs: request.ttlMs + 3000 })
  await together()
  expect(seen.size).toBe(4)
  expect((await store.steps?.load(id))?.size).toBe(1)
  await store.settle(id, next.record.fence, { to: 'completed', result: Buffer.from('1'), ttlMs: 1000 })
  expect(await client.exists(`${name}:steps`)).toBe(0)
})

test('a call after the store is closed fails, and leaves no connection open', async () => {
  const admin = new Redis(server.url)
  onTestFinished(() => admin.disconnect())
  const others = async () =>
    String(await admin.client('LIST'))
      .trim()
      .split('\n').length
  const before = await others()
  const store = redisKeys({ url: server.url })
  const [warm = '', ...ids] = manyIds()
  await store.acquire(warm, request)
  const asking = Promise.allSettled(ids.map((id) => store.acquire(id, request)))
  await store.close()
  expect((await asking).every(({ status }) => status === 'rejected')).toBe(true)
  await expect(store.read(warm)).rejects.toThrow('closed')
  await until('its connection is gone', async () => (await others()) === before)
})

const MANY = 200
const request: AcquireRequest = {
  fingerprint: 'the same',
  holder: 'a test',
  lockMs: 60_000,
  ttlMs: 60_000,
  onCrash: 'unknown',
}

function manyIds(): KeyId[] {
  return Array.from({ length: MANY }, () => keyId('many', randomUUID()))
}

async function callsOf(client: Redis): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
}
