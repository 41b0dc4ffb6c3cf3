import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { Permanent, RetryAfter } from '../../../src/index.ts'
import { replayFailedMessages, replayMessage } from '../../../src/operate/outbox.ts'
import { pruneOutbox } from '../../../src/upkeep/prune-outbox.ts'
import { TimeLimit } from '../../../src/work/within.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { allPublished, commitMessages, newMessage, relayOn } from '../../support/outbox.ts'
import { until } from '../../support/until.ts'

const STATES = `select payload, state::text, attempts, reason from hookonce.outbox order by payload::text`
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((resolveIt) => {
    resolve = resolveIt
  })
  return { promise, resolve }
}

test('several relays with an unreliable publisher publish everything, and every key in order', async () => {
  const db = await freshDatabase()
  const seed = Date.now() % 2 ** 31
  let state = seed
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
  const got: { key: string | undefined; n: unknown; id: string }[] = []
  const moody = async ({ key, payload, id }: { key: string | undefined; payload: unknown; id: string }) => {
    if (random() < 0.1) throw new Error('not now')
    await new Promise((resolve) => setTimeout(resolve, random() * 3))
    got.push({ key, n: payload, id })
    if (random() < 0.1) throw new Error('the answer was lost')
  }
  const options = { retry: { maxAttempts: 100, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 1 } }
  await Promise.all(range(3).map(() => relayOn(db, moody, options)))
  for (const n of range(40)) {
    await commitMessages(
      db,
      ...range(5).map((key) => newMessage(`k${key}/${n}`, { key: `k${key}`, payload: n })),
      newMessage(`free/${n}`),
    )
  }
  await allPublished(db)
  const seen = new Set<string>()
  const first = got.filter(({ id }) => !seen.has(id) && seen.add(id))
  expect(seen.size, `seed ${seed}`).toBe(240)
  for (const key of range(5)) {
    const order = first.filter((message) => message.key === `k${key}`).map(({ n }) => n)
    expect(order, `seed ${seed}, key ${key}`).toEqual(range(40))
  }
  expect(await db.number('select count(*) from hookonce.outbox_lane')).toBe(0)
})

test.each([100, 1])(
  'the relay continues after any answer of a receiver: a reason may be any text, after %i attempts',
  async (maxAttempts) => {
    const db = await freshDatabase()
    const got: string[] = []
    const publisher = async ({ key }: { key: string | undefined }) => {
      if (key === 'bad') throw new Error('oops \0 and half a \ud83d')
      got.push(key ?? '')
    }
    const retry = { maxAttempts, maxAgeMs: 1e9, baseDelayMs: 60_000, maxDelayMs: 60_000 }
    await relayOn(db, publisher, { retry })
    await commitMessages(db, newMessage('bad', { key: 'bad' }))
    for (const n of range(5)) await commitMessages(db, newMessage(`good${n}`, { key: `good${n}` }))
    await until('the others are published', async () => {
      const states = await db.rows<{ state: string }>(
        `select state::text from hookonce.outbox where key like 'good%' and state = 'published'`,
      )
      return states.length === 5
    })
    expect(got.sort()).toEqual(range(5).map((n) => `good${n}`))
    const reasons = await until('what was said is kept', () =>
      db.number(
        `select count(*) from (select reason from hookonce.outbox_lane union all select reason from hookonce.outbox) r
         where reason like '%oops % and half a %'`,
      ),
    )
    expect(reasons).toBe(1)
  },
)

test('a key whose first message fails blocks only its own messages', async () => {
  const db = await freshDatabase()
  const got: string[] = []
  let broken = true
  await relayOn(
    db,
    ({ payload, key }) => {
      if (broken && key === 'a') throw new Error('a is down')
      got.push(String(payload))
    },
    { retry: { maxAttempts: 1_000, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 20 } },
  )
  await commitMessages(
    db,
    ...range(3).flatMap((n) => [
      newMessage(`a${n}`, { key: 'a' }),
      newMessage(`b${n}`, { key: 'b' }),
      newMessage(`c${n}`),
    ]),
  )
  await until('the others are through', () => got.length === 6)
  await until('it was tried more than once', () =>
    db.number('select count(*) from hookonce.outbox_lane where attempt > 1'),
  )
  expect(got.filter((payload) => payload.startsWith('b'))).toEqual(['b0', 'b1', 'b2'])
  broken = false
  await allPublished(db)
  expect(got.slice(6)).toEqual(['a0', 'a1', 'a2'])
})

test('a publisher that hangs takes no slot from another', async () => {
  const db = await freshDatabase()
  const hanging = deferred()
  const got: unknown[] = []
  await relayOn(
    db,
    { 'slow.': () => hanging.promise, 'fast.': ({ payload }) => got.push(payload) },
    { concurrency: 2 },
  )
  await commitMessages(db, ...range(10).map((n) => newMessage(`s${n}`, { topic: 'slow.a' })))
  await until('it hangs', () =>
    db.number('select (count(*) = 2)::int from hookonce.outbox_lane where worker is not null'),
  )
  await commitMessages(db, ...range(10).map((n) => newMessage(`f${n}`, { topic: 'fast.a' })))
  await until('the others are through', () => got.length === 10)
  hanging.resolve()
  await allPublished(db)
})

test('messages without a key are published in parallel', async () => {
  const db = await freshDatabase()
  const together = deferred()
  let started = 0
  await commitMessages(db, ...range(4).map((n) => newMessage(`m${n}`)))
  await relayOn(db, async () => {
    started += 1
    if (started === 4) together.resolve()
    await together.promise
  })
  await allPublished(db)
  expect(started).toBe(4)
})

test('a message that fails too often is failed with its reason, the next of its key follows, and a replay publishes it', async () => {
  const db = await freshDatabase()
  let broken = true
  const got: unknown[] = []
  const retry = { maxAttempts: 3, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 1 }
  const { facts } = await relayOn(
    db,
    ({ payload, attempt }) => {
      got.push([payload, attempt])
      if (broken && payload === 'm1') throw new Error(`broken ${attempt}`)
      if (broken && payload === 'm2') throw new Permanent('never')
    },
    { retry },
  )
  await commitMessages(db, ...['m1', 'm2', 'm3'].map((id) => newMessage(id, { key: 'k' })))
  await allPublished(db)
  expect(await db.rows(STATES)).toEqual([
    { payload: 'm1', state: 'failed', attempts: 3, reason: 'gave up after 3 attempts: Error: broken 3' },
    { payload: 'm2', state: 'failed', attempts: 1, reason: 'permanent: Permanent: never' },
    { payload: 'm3', state: 'published', attempts: 1, reason: null },
  ])
  expect(got).toEqual([
    ['m1', 1],
    ['m1', 2],
    ['m1', 3],
    ['m2', 1],
    ['m3', 1],
  ])
  expect(facts.map(({ outcome }) => outcome)).toEqual([
    'retrying',
    'retrying',
    'failed',
    'failed',
    'published',
  ])

  broken = false
  const ledger = { pool: db.pool, shards: 16 }
  const { id } = newMessage('m1')
  expect(await replayMessage(ledger, id.slice(0, 8))).toEqual({ messageId: id, replayed: true })
  await allPublished(db)
  expect(await replayFailedMessages(ledger, { topic: 'other', limit: 10 })).toBe(0)
  expect(await replayFailedMessages(ledger, { topic: 't', limit: 10 })).toBe(1)
  await allPublished(db)
  expect((await db.rows(STATES)).map(({ state }) => state)).toEqual(['published', 'published', 'published'])
  expect(got.slice(5)).toEqual([
    ['m1', 1],
    ['m2', 1],
  ])
})

test('RetryAfter is honoured, and a publisher that takes too long is interrupted and tried again', async () => {
  const db = await freshDatabase()
  let reason: unknown
  await relayOn(
    db,
    {
      later: () => {
        throw new RetryAfter(600_000, 'busy')
      },
      hangs: ({ attempt }, { signal }) =>
        attempt > 1
          ? undefined
          : new Promise(() => signal.addEventListener('abort', () => (reason = signal.reason))),
    },
    { timeoutMs: 20 },
  )
  await commitMessages(db, newMessage('m1', { topic: 'later' }), newMessage('m2', { topic: 'hangs' }))
  await until('the second is published', () =>
    db.number(
      `select count(*) from hookonce.outbox where topic = 'hangs' and state = 'published' and attempts = 2`,
    ),
  )
  expect(reason).toMatchObject({ code: 'PUBLISH_TIMEOUT' })
  const lane = await until('the first waits', async () => {
    const [row] = await db.rows<{ wait: number }>(
      `select extract(epoch from due_at - now())::float8 as wait, reason from hookonce.outbox_lane where worker is null`,
    )
    return row
  })
  expect(lane.wait).toBeGreaterThan(500)
  expect(lane).toMatchObject({ reason: 'RetryAfter: busy' })
})

test('a relay that stops finishes the current message and hands the rest of the lane back, unchanged', async () => {
  const db = await freshDatabase()
  const hanging = deferred()
  const got: unknown[] = []
  const { relay } = await relayOn(db, async ({ payload }) => {
    got.push(payload)
    await hanging.promise
  })
  await commitMessages(db, ...['m1', 'm2', 'm3'].map((id) => newMessage(id, { key: 'k' })))
  await until('it publishes', () => got.length === 1)
  const stopped = relay.stop(new TimeLimit(30_000))
  hanging.resolve()
  await stopped
  expect(got).toEqual(['m1'])
  expect(await db.rows('select worker, attempt, crashes from hookonce.outbox_lane')).toEqual([
    { worker: null, attempt: 0, crashes: 0 },
  ])
  expect((await db.rows(STATES)).map(({ state }) => state)).toEqual(['published', 'waiting', 'waiting'])
})

test('a relay that is stopped in a publisher that hangs does not count the attempt', async () => {
  const db = await freshDatabase()
  let started = false
  const { relay, facts } = await relayOn(db, () => {
    started = true
    return new Promise(() => undefined)
  })
  await commitMessages(db, newMessage('m1'))
  await until('it publishes', () => started)
  await relay.stop(new TimeLimit(0))
  expect(facts.map(({ outcome }) => outcome)).toEqual(['returned'])
  expect(await db.rows('select worker, attempt from hookonce.outbox_lane')).toEqual([
    { worker: null, attempt: 0 },
  ])
})

test("a lane that was leased without the relay's knowledge is handed back, and published", async () => {
  const db = await freshDatabase()
  await commitMessages(db, newMessage('m1'))
  const got: unknown[] = []
  await db.rows(`update hookonce.outbox_lane set due_at = now() + interval '1 hour'`)
  const { relay } = await relayOn(db, ({ payload, attempt }) => got.push([payload, attempt]), {
    leaseMs: 600,
  })
  // Like a claim that was committed and whose reply was lost.
  await db.rows(
    `update hookonce.outbox_lane set worker = $1, fence = 1, attempt = 1, started_at = now() - interval '1 minute'`,
    [relay.id],
  )
  await allPublished(db)
  expect(got).toEqual([['m1', 1]])
})

test('marks that the ledger refuses are made again, and the message is not published again', async () => {
  const db = await freshDatabase()
  let failures = 0
  const pool: Pool = Object.create(db.pool, {
    query: {
      value: async (query: { name?: string }) => {
        if (query.name !== 'hookonce_settle_lanes' || failures === 2) return db.pool.query(query as never)
        failures += 1
        // The second time the mark is committed, and only its reply is lost.
        if (failures === 2) await db.pool.query(query as never)
        throw new Error('the connection broke')
      },
    },
  })
  const got: unknown[] = []
  await relayOn(db, ({ payload }) => got.push(payload), { pool })
  await commitMessages(db, newMessage('m1', { key: 'k' }))
  await allPublished(db)
  await commitMessages(db, newMessage('m2', { key: 'k' }))
  await allPublished(db)
  expect(failures).toBe(2)
  expect(got).toEqual(['m1', 'm2'])
})

test('finished messages are deleted at the end of their retention; waiting ones are not', async () => {
  const db = await freshDatabase()
  const { relay } = await relayOn(db, ({ payload }) => {
    if (payload === 'failed') throw new Permanent('never')
  })
  await commitMessages(db, newMessage('old'), newMessage('failed'), newMessage('young'))
  await allPublished(db)
  await relay.stop(new TimeLimit(0))
  await commitMessages(db, newMessage('waiting'))
  await db.rows(
    `update hookonce.outbox set finished_at = finished_at - interval '8 days' where payload::text <> '"young"'`,
  )
  expect(await pruneOutbox({ pool: db.pool, shards: 16 }, 7 * 86_400_000)).toBe(2)
  expect((await db.rows(STATES)).map(({ payload }) => payload)).toEqual(['waiting', 'young'])
})

test('an idle relay queries once per poll, and commits of its own process wake it', async () => {
  const db = await freshDatabase()
  const got: unknown[] = []
  const hooks = testHooks(db, {
    pollMs: 3_600_000,
    outbox: { publishers: { '*': ({ payload }) => got.push(payload) } },
  })
  hooks.on('test', '*', async (event, ctx) => {
    if (event.type === 'end') ctx.publish('a', event.key)
    else await ctx.transaction(async (tx) => void tx.publish('a', event.key))
  })
  await hooks.start()
  // The worker and the relay have searched once, and would search again in an hour.
  await deliver(hooks, { id: 'evt_1', type: 'end' })
  await until('it is published', () => got.length === 1)
  await deliver(hooks, { id: 'evt_2', type: 'transaction' })
  await until('it is published', () => got.length === 2)
  await allPublished(db)
})

test('the metrics have the number and age of waiting and failed messages', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, {
    outbox: {
      publishers: {
        bad: () => {
          throw new Permanent('never')
        },
        '*': () => undefined,
      },
    },
  })
  hooks.on('test', '*', (event, ctx) => void ctx.publish(event.type, 1))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'bad' })
  await deliver(hooks, { id: 'evt_2', type: 'good' })
  await until('both are finished', () =>
    db.number(`select (count(*) = 2)::int from hookonce.outbox where state <> 'waiting'`),
  )
  const text = await until('both are counted', async () => {
    const metrics = await hooks.metrics()
    return metrics.includes('hookonce_messages_published_total{topic="good"} 1') ? metrics : undefined
  })
  expect(text).toContain('hookonce_messages_failed_total{topic="bad"} 1')
  expect(text).toContain('hookonce_outbox_failed{topic="bad"} 1')
  expect(text).toContain('hookonce_publish_seconds_count{topic="good"} 1')
  const waiting = await db.number(`select count(*) from hookonce.outbox where state = 'waiting'`)
  expect(waiting).toBe(0)
})
