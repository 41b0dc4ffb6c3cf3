import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type KeyStore,
  postgresKeys,
  redisKeys,
  requestsTo,
  startCompleter,
} from '../../../src/keys/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { startKeyedApp } from '../../support/idempotent-app.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** Short enough to expire within a test, long enough for its steps. */
const LOCK_MS = 1_500

interface StoreConfig {
  readonly database: string
  readonly redis?: string
}

function storeOf({ database, redis }: StoreConfig): KeyStore {
  return redis ? redisKeys({ url: redis }) : postgresKeys({ database })
}

const stores: Record<string, (db: TestDatabase) => Promise<StoreConfig>> = {
  PostgreSQL: async (db) => ({ database: db.url }),
  async Redis(db) {
    const redis = await startRedis()
    onTestFinished(() => redis.remove())
    return { database: db.url, redis: redis.url }
  },
}

describe.each(Object.entries(stores))('keys in %s, used by several processes', (_, configOf) => {
  test('100 concurrent requests with one key to two processes run the handler once', async () => {
    const db = await freshDatabase()
    const config = await configOf(db)
    const apps = await Promise.all([1, 2].map(() => startKeyedApp({ ...config, keys: { waitMs: 30_000 } })))
    const replies = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const reply = await apps[n % 2]?.post('count', 'one')
        return {
          status: reply?.status,
          body: await reply?.text(),
          replayed: reply?.headers.get('idempotent-replayed'),
        }
      }),
    )
    expect(await db.number('select count(*) from effect')).toBe(1)
    expect(await db.number('select count(*) from run')).toBe(1)
    expect(new Set(replies.map(({ status, body }) => `${status} ${body}`)).size).toBe(1)
    expect(replies.filter(({ replayed }) => replayed === 'true')).toHaveLength(99)
  })

  test('killed inside the handler: it does not run again, and every request gets outcome-unknown', async () => {
    const db = await freshDatabase()
    const config = await configOf(db)
    const keys = { lockMs: LOCK_MS }
    const [first, second] = await Promise.all([1, 2].map(() => startKeyedApp({ ...config, keys })))
    const lost = first?.post('hang', 'one').catch(() => 'lost')
    await first?.says('hanging')
    expect((await second?.post('hang', 'one'))?.status).toBe(409)
    first?.kill('SIGKILL')
    expect(await lost).toBe('lost')
    const told = await until('the lock runs out', async () => {
      const problem = (await (await second?.post('hang', 'one'))?.json()) as { type: string }
      return problem.type.endsWith('outcome-unknown') && problem
    })
    expect(told).toMatchObject({ type: 'urn:hookonce:problem:outcome-unknown', status: 409 })
    expect(await db.number('select count(*) from run')).toBe(1)
  })

  test('killed between two steps, and no client retries: a completer finishes it, with each step once', async () => {
    const db = await freshDatabase()
    const config = await configOf(db)
    const keys = { handler: 'resumable', lockMs: LOCK_MS, pledge: 'orders', completeAfterMs: 1 }
    const [first, second] = await Promise.all([1, 2].map(() => startKeyedApp({ ...config, keys })))
    const lost = first?.post('order', 'one').catch(() => 'lost')
    await first?.says('hanging')
    first?.kill('SIGKILL')
    expect(await lost).toBe('lost')
    const store = storeOf(config)
    onTestFinished(() => store.close())
    const events: string[] = []
    const completer = startCompleter([requestsTo({ store, name: 'orders', origin: second?.url ?? '' })], {
      everyMs: 50,
      observe: ({ what }) => events.push(what),
    })
    onTestFinished(() => completer.stop())
    await until('it is completed', async () => events.includes('completed'))
    expect(await db.rows('select type from effect order by type')).toEqual([
      { type: 'charge' },
      { type: 'hang' },
      { type: 'mail' },
    ])
    const reply = await second?.post('order', 'one')
    expect(reply?.headers.get('idempotent-replayed')).toBe('true')
    expect(await reply?.json()).toEqual({ pid: second?.pid })
  })

  test('frozen past its lock and resumed: its late result does not replace that of its successor', async () => {
    const db = await freshDatabase()
    const config = await configOf(db)
    const keys = { lockMs: LOCK_MS, onCrash: 'reexecute' }
    const [frozen, successor] = await Promise.all([1, 2].map(() => startKeyedApp({ ...config, keys })))
    const late = frozen?.post('hangfirst', 'one')
    await frozen?.says('hanging')
    frozen?.kill('SIGSTOP')
    const taken = await until('the successor takes over', async () => {
      const reply = await successor?.post('hangfirst', 'one')
      return reply?.status === 201 && reply.json()
    })
    frozen?.kill('SIGCONT')
    frozen?.kill('SIGUSR2')
    // It gets the stored reply, not its own result.
    expect(await (await late)?.json()).toEqual(taken)
    await frozen?.says('lost_lock')
    expect(taken).toEqual({ pid: successor?.pid })
    expect(await (await successor?.post('hangfirst', 'one'))?.json()).toEqual(taken)
  })
})

test('transactional handlers: killed before the commit nothing is left, and the retry takes effect once', async () => {
  const db = await freshDatabase()
  const config = { database: db.url, keys: { handler: 'transactional', lockMs: LOCK_MS } }
  const [first, second] = await Promise.all([1, 2].map(() => startKeyedApp(config)))
  const lost = first?.post('hangfirst', 'one').catch(() => 'lost')
  await first?.says('hanging')
  first?.kill('SIGKILL')
  expect(await lost).toBe('lost')
  const reply = await until('the lock runs out', async () => {
    const reply = await second?.post('hangfirst', 'one')
    return reply?.status === 201 && reply.json()
  })
  expect(reply).toEqual({ pid: second?.pid })
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('transactional handlers: writes of a frozen process are rolled back if its lock was taken', async () => {
  const db = await freshDatabase()
  const config = { database: db.url, keys: { handler: 'transactional', lockMs: LOCK_MS } }
  const [frozen, successor] = await Promise.all([1, 2].map(() => startKeyedApp(config)))
  const late = frozen?.post('hangfirst', 'one')
  await frozen?.says('hanging')
  frozen?.kill('SIGSTOP')
  await until(
    'the successor takes over',
    async () => (await successor?.post('hangfirst', 'one'))?.status === 201,
  )
  frozen?.kill('SIGCONT')
  frozen?.kill('SIGUSR2')
  expect(await (await late)?.json()).toEqual({ pid: successor?.pid })
  expect(await db.rows('select pid from effect')).toEqual([{ pid: successor?.pid }])
})

test('transactional handlers: the locks of a frozen one do not keep its successor from taking over', async () => {
  const db = await freshDatabase()
  const config = { database: db.url, keys: { handler: 'transactional', lockMs: LOCK_MS } }
  const [frozen, successor] = await Promise.all([1, 2].map(() => startKeyedApp(config)))
  const late = frozen?.post('lockfirst', 'one')
  await frozen?.says('hanging')
  frozen?.kill('SIGSTOP')
  await until(
    'the successor takes over',
    async () => (await successor?.post('lockfirst', 'one'))?.status === 201,
  )
  frozen?.kill('SIGCONT')
  frozen?.kill('SIGUSR2')
  expect(await (await late)?.json()).toEqual({ pid: successor?.pid })
  expect(await db.rows('select pid from effect')).toEqual([{ pid: successor?.pid }])
})
