import { expect, test } from 'vitest'
import { type Context, Permanent } from '../../../src/index.ts'
import type { Message } from '../../../src/publishers/contract.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

const MESSAGES = `select topic, key, state::text, attempts, headers, payload from hookonce.outbox order by seq, topic`

/** hookonce with one publisher for all topics, which records the messages. */
function publishing(db: TestDatabase): { hooks: TestHooks; got: Message[] } {
  const got: Message[] = []
  const hooks = testHooks(db, {
    outbox: { publishers: { '*': (message) => void got.push(message) } },
    retry: { baseDelayMs: 1, maxDelayMs: 1 },
  })
  return { hooks, got }
}

const inState = (db: TestDatabase, state: string, count = 1): Promise<unknown> =>
  until(`${count} jobs are ${state}`, async () => {
    return (await db.number('select count(*) from hookonce.job where state::text = $1', [state])) === count
  })
const published = (db: TestDatabase, count: number): Promise<unknown> =>
  until(`${count} messages are published`, async () => {
    return (await db.number(`select count(*) from hookonce.outbox where state = 'published'`)) === count
  })

test('a message is committed with the transaction that made it, and published byte for byte', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  let id = ''
  hooks.on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
      id = tx.publish(
        'invoice.paid',
        { b: 1.5, a: ['é 🪝', '\u0000'] },
        { key: 'in_1', headers: { 'X-Trace': 't' } },
      )
    }),
  )
  await hooks.start()
  const receiptId = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 1)
  expect(got).toEqual([
    {
      id,
      topic: 'invoice.paid',
      key: 'in_1',
      payload: { b: 1.5, a: ['é 🪝', '\u0000'] },
      body: '{"b":1.5,"a":["é 🪝","\\u0000"]}',
      headers: { 'X-Trace': 't' },
      tenant: 'default',
      receiptId,
      createdAt: expect.any(Date),
      attempt: 1,
    },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(await db.number('select count(*) from hookonce.outbox_lane')).toBe(0)
})

test.each(['transaction', 'completion'])('an error drops the message of a %s', async (kind) => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  hooks.on('test', '*', async (_, ctx) => {
    if (kind === 'completion') ctx.publish('a', 1)
    else await ctx.transaction(async (tx) => void tx.publish('a', 1), { name: 'committed' })
    await ctx.transaction(async (tx) => {
      tx.publish('b', 1)
      throw new Permanent('changed my mind')
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'failed')
  // Messages that an earlier transaction of the same job committed are published, although the job
  // failed.
  const committed = kind === 'completion' ? [] : ['a']
  await published(db, committed.length)
  expect(await db.rows('select topic from hookonce.outbox')).toEqual(committed.map((topic) => ({ topic })))
  expect(got.map(({ topic }) => topic)).toEqual(committed)
})

test.each([
  {
    name: 'a transaction',
    publish: (ctx: Context) => ctx.transaction(async (tx) => void tx.publish('a', 1)),
  },
  {
    name: 'a last transaction',
    publish: (ctx: Context) => ctx.transaction(async (tx) => void tx.publish('a', 1), { last: true }),
  },
  { name: 'a completion', publish: (ctx: Context) => ctx.publish('a', 1) },
])('a stale fence drops the message of $name', async ({ publish }) => {
  const db = await freshDatabase()
  const { hooks } = publishing(db)
  let handled = false
  hooks.on('test', '*', async (_, ctx) => {
    await db.rows('update hookonce.job set fence = fence + 1')
    try {
      await publish(ctx)
    } finally {
      handled = true
    }
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the handler has ended', () => handled)
  await hooks.stop()
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(0)
  expect(await db.number('select count(*) from hookonce.outbox_lane')).toBe(0)
})

test('a retried handler makes no second message if its step is committed, and the same ids if it is not', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  const ids: string[] = []
  hooks.on('test', '*', async (_, ctx) => {
    await ctx.transaction(async (tx) => void ids.push(tx.publish('once', ctx.attempt)), { name: 'first' })
    ids.push(ctx.publish('at-the-end', ctx.attempt))
    await ctx.transaction(
      async (tx) => {
        ids.push(tx.publish('second', ctx.attempt))
        if (ctx.attempt < 3) throw new Error('not yet')
      },
      { name: 'second' },
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 3)
  expect(await db.rows('select topic, payload from hookonce.outbox order by topic')).toEqual([
    { topic: 'at-the-end', payload: 3 },
    { topic: 'once', payload: 1 },
    { topic: 'second', payload: 3 },
  ])
  const [once, ...others] = ids
  expect(new Set(others).size).toBe(2)
  expect(others).toHaveLength(6)
  expect(new Set(got.map(({ id }) => id))).toEqual(new Set([once, ...others]))
})

test('ctx.publish commits with ctx.write: both, or neither, and a replay repeats neither', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  hooks.on(
    'test',
    '*',
    (event, ctx) => {
      ctx.write({
        text: INSERT_EFFECT,
        values: [event.receiptId, event.type],
        rows: event.type === 'bad' ? 2 : 1,
      })
      ctx.publish('done', event.type, { key: event.type })
    },
    { retry: { maxAttempts: 1 } },
  )
  await hooks.start()
  const [good] = await Promise.all(
    ['good', 'bad', 'fine'].map((type) => deliver(hooks, { id: `evt_${type}`, type })),
  )
  await inState(db, 'failed')
  await published(db, 2)
  expect((await db.rows('select type from effect order by 1')).map(({ type }) => type)).toEqual([
    'fine',
    'good',
  ])
  await hooks.replay(String(good))
  await until('it is processed again', () => db.number('select count(*) from hookonce.job where fence = 2'))
  await inState(db, 'processed', 2)
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(2)
  expect(got.map(({ payload }) => payload).sort()).toEqual(['fine', 'good'])
})

test('messages of one handler keep their order, also after a serialization failure', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  let tries = 0
  hooks.on('test', '*', (_, ctx) =>
    ctx.transaction(async (tx) => {
      for (const n of [1, 2, 3, 4, 5]) tx.publish('n', n, { key: 'k' })
      tries += 1
      if (tries === 1) throw Object.assign(new Error('try again'), { code: '40001' })
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 5)
  expect(got.map(({ payload }) => payload)).toEqual([1, 2, 3, 4, 5])
})

test('messages that a savepoint undoes are not published', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  hooks.on('test', '*', (_, ctx) =>
    ctx.transaction(async (tx) => {
      tx.publish('before', 1)
      const undone = tx.savepoint(async () => {
        tx.publish('undone', 1)
        await tx.latest('invoice:1', 1, async () => undefined)
        throw new Error('changed my mind')
      })
      await undone.catch(() => undefined)
      await tx.savepoint(async () => tx.publish('inside', 1))
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 2)
  expect(got.map(({ topic }) => topic).sort()).toEqual(['before', 'inside'])
  expect(await db.number('select count(*) from hookonce.entity')).toBe(0)
})

test('writes, effect keys, versions and messages of a transaction are one commit, under a live fence', async () => {
  const db = await freshDatabase()
  const { hooks } = publishing(db)
  const counted = (): Promise<unknown[]> =>
    db.rows(`select (select count(*)::int from effect) as writes, (select count(*)::int from hookonce.effect) as keys,
      (select count(*)::int from hookonce.entity) as versions, (select count(*)::int from hookonce.outbox) as messages,
      (select count(*)::int from hookonce.step) as steps`)
  const faults: unknown[] = []
  hooks.on('test', '*', async (event, ctx) => {
    const work = ctx.transaction(async (tx) => {
      await tx.effect('credit:1', () =>
        tx.query(INSERT_EFFECT, [event.receiptId, 'credit']).then(() => undefined),
      )
      await tx.latest('invoice:1', 1, async () => void tx.publish('invoice.changed', 1))
      if (ctx.attempt === 1) throw new Error('rolled back')
      if (ctx.attempt === 2) await db.rows('update hookonce.job set fence = fence + 1')
    })
    faults.push(await work.catch((error: unknown) => error))
    if (ctx.attempt === 1) throw new Error('again')
    // Gives back the lease that was taken away.
    if (ctx.attempt === 2) await db.rows(`update hookonce.job set state = 'retrying', worker = null`)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 1)
  expect(faults).toEqual([
    expect.objectContaining({ message: 'rolled back' }),
    expect.objectContaining({ code: 'LEASE_LOST' }),
    undefined,
  ])
  expect(await counted()).toEqual([{ writes: 1, keys: 1, versions: 1, messages: 1, steps: 1 }])

  // Another event with the same effect and the same version is skipped: it neither writes nor
  // publishes.
  await hooks.stop()
  const later = testHooks(db, { outbox: { publishers: 'elsewhere' } })
  later.on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.effect('credit:1', async () => {
        await tx.query(INSERT_EFFECT, [event.receiptId, 'credit'])
        tx.publish('credited', 1)
      })
      await tx.latest('invoice:1', 1, async () => void tx.publish('invoice.changed', 1), { tie: 'skip' })
    }),
  )
  await later.start()
  await deliver(later, { id: 'evt_2', type: 'a' })
  await inState(db, 'processed', 2)
  expect(await counted()).toEqual([{ writes: 1, keys: 1, versions: 1, messages: 1, steps: 2 }])
})

test('a fresh replay publishes again, under other ids', async () => {
  const db = await freshDatabase()
  const { hooks, got } = publishing(db)
  hooks.on('test', '*', async (_, ctx) => {
    await ctx.transaction(async (tx) => void tx.publish('a', 1))
    ctx.publish('b', 1)
  })
  await hooks.start()
  const receipt = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await published(db, 2)
  await hooks.replay(receipt, { fresh: { by: 'ann', why: 'the broker lost them' } })
  await published(db, 4)
  expect(got.map(({ topic }) => topic).sort()).toEqual(['a', 'a', 'b', 'b'])
  expect(new Set(got.map(({ id }) => id)).size).toBe(4)
})

test('a topic without a publisher is refused, unless another process publishes it', async () => {
  const db = await freshDatabase()
  const none = testHooks(db, { retry: { maxAttempts: 1 } })
  none.on('test', '*', (event, ctx) => void ctx.publish(event.type, 1))
  await none.start()
  await deliver(none, { id: 'evt_1', type: 'audit.a' })
  await inState(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    {
      reason: expect.stringContaining(
        'PUBLISHER_MISSING: no publisher is configured for the topic "audit.a" (no publishers are configured)',
      ),
    },
  ])
  await none.stop()

  const elsewhere = testHooks(db, { outbox: { publishers: 'elsewhere' } })
  elsewhere.on('test', '*', (event, ctx) => void ctx.publish(event.type, 1))
  await elsewhere.start()
  await deliver(elsewhere, { id: 'evt_2', type: 'audit.b' })
  await inState(db, 'processed')
  expect(await db.rows(MESSAGES)).toMatchObject([{ topic: 'audit.b', key: null, state: 'waiting' }])
  await elsewhere.stop()

  const got: string[] = []
  const other = testHooks(db, {
    outbox: { publishers: { 'audit.*': (message) => void got.push(message.topic), b: () => undefined } },
  })
  other.on('test', '*', (event, ctx) => void ctx.publish(event.type, 1))
  await other.start()
  await published(db, 1)
  expect(got).toEqual(['audit.b'])
})

test.each([
  { name: 'a topic with a space', topic: 'a b', says: 'a topic is 1 to 255' },
  { name: 'a payload that is none', payload: undefined, says: 'the payload is undefined' },
  { name: 'a payload that JSON cannot hold', payload: { n: 1n }, says: 'the payload is not JSON' },
  { name: 'a payload that is too large', payload: 'x'.repeat(300_000), says: 'MESSAGE_TOO_LARGE' },
  { name: 'a header with a line break', options: { headers: { a: 'b\r\nc' } }, says: 'printable ASCII' },
  { name: 'an unknown option', options: { keys: 'a' }, says: 'allowed: key, headers' },
  { name: 'a key with a NUL', options: { key: 'a\0' }, says: 'must not hold a NUL' },
])('$name is refused', async ({ topic = 'a', payload, options = {}, says }) => {
  const db = await freshDatabase()
  const { hooks } = publishing(db)
  hooks.on('test', '*', (_, ctx) => void ctx.publish(topic, payload, options), { retry: { maxAttempts: 1 } })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining(says) },
  ])
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(0)
})

test('a message that is published after its transaction has ended is refused, not lost', async () => {
  const db = await freshDatabase()
  const { hooks } = publishing(db)
  hooks.on(
    'test',
    '*',
    async (_, ctx) => {
      let late: (() => void) | undefined
      await ctx.transaction(async (tx) => {
        late = () => void tx.publish('late', 1)
      })
      late?.()
    },
    { retry: { maxAttempts: 1 } },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining('CONTEXT_CLOSED') },
  ])
})
