import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { once, redisKeys } from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

async function redis(): Promise<RedisServer> {
  const server = await startRedis()
  onTestFinished(() => server.remove())
  return server
}

test('while Redis is down requests are refused, and its records exist when it is back', async () => {
  const server = await redis()
  const store = redisKeys({ url: server.url })
  onTestFinished(() => store.close())
  const app = await keyedServer((_request, response) => response.end('done'), { store })
  await app.post('before')
  await server.kill()
  expect((await app.post('during')).status).toBe(503)
  expect(app.runs()).toBe(1)
  await server.start()
  const again = await until('Redis is back', async () => {
    const reply = await app.post('before')
    return reply.status === 200 && reply.headers.get('idempotent-replayed')
  })
  expect(again).toBe('true')
  expect(app.runs()).toBe(1)
})

test('Redis that is gone while the handler runs: the reply is sent, counted, and the key stays locked', async () => {
  const server = await redis()
  const store = redisKeys({ url: server.url })
  onTestFinished(() => store.close())
  const app = await keyedServer(
    async (_request, response) => {
      await server.kill()
      response.end('done')
    },
    { store },
  )
  expect(await (await app.post('one')).text()).toBe('done')
  expect(app.events).toMatchObject([{ what: 'not_persisted' }])
  await server.start()
  const told = await until('Redis is back', async () => {
    const { status } = await app.post('one')
    return status !== 503 && status
  })
  expect(told).toBe(409)
  expect(app.runs()).toBe(1)
})

test('Redis that does not answer in time: refused, and nothing is left locked when it goes on', async () => {
  const server = await redis()
  const store = redisKeys({ url: server.url })
  onTestFinished(() => store.close())
  await once(store, 'warm', () => 1, { tenant: 'global' })
  process.kill(server.pid, 'SIGSTOP')
  const slow = once(store, 'one', () => 'first', { tenant: 'global', storeTimeoutMs: 200 })
  await expect(slow).rejects.toMatchObject({ code: 'KEY_STORE_DOWN' })
  process.kill(server.pid, 'SIGCONT')
  expect(await once(store, 'one', () => 'second', { tenant: 'global', waitMs: 20_000 })).toBe('second')
})

test('a limit: a failover to a replica that lacks the lock loses it', async () => {
  const [primary, replica] = [await redis(), await redis()]
  const control = new Redis(replica.url)
  onTestFinished(() => control.disconnect())
  await control.replicaof('127.0.0.1', primary.port)
  await until('the replica follows', async () =>
    (await control.info('replication')).includes('master_link_status:up'),
  )
  // A partition: from here on the process receives nothing.
  await control.replicaof('127.0.0.1', 1)
  const [before, after] = [redisKeys({ url: primary.url }), redisKeys({ url: replica.url })]
  onTestFinished(async () => void (await Promise.all([before.close(), after.close()])))
  let runs = 0
  let finish: () => void = () => undefined
  const first = once(
    before,
    'one',
    () =>
      new Promise<number>((resolve) => {
        runs++
        finish = () => resolve(1)
      }),
    { tenant: 'global', storeTimeoutMs: 500 },
  )
  await until('the first runs', () => runs === 1)
  await primary.kill()
  await control.call('REPLICAOF', 'NO', 'ONE')
  expect(await once(after, 'one', () => ++runs, { tenant: 'global' })).toBe(2)
  finish()
  await first
  expect(runs).toBe(2)
})
