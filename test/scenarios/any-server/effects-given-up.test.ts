import { expect, test } from 'vitest'
import { type Context, type Handler, Permanent } from '../../../src/index.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { BURIED_AT } from '../../../src/model/suspects.ts'
import { settleWaiting } from '../../../src/operate/subscribers.ts'
import { rescueOrphans } from '../../../src/upkeep/rescue.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/*
 * A job never fails while the outcome of one of its calls is open: it waits for a person, and is
 * listed.
 */

const by = { by: 'ann', why: 'asked the bank' }

function lost(ctx: Context, key = 'charge', reconcile?: () => Promise<never>): Promise<unknown> {
  const call = () => Promise.reject(new Error('the reply was lost'))
  return ctx.effect(key, call, { mode: 'atMostOnce', ...(reconcile ? { reconcile } : {}) })
}

const refused = { text: 'insert into effect (type) values ($1)', values: ['x'], rows: 2 }

const ENDS: Record<string, Handler> = {
  'reconcile throws until attempts run out': (_, ctx) =>
    lost(ctx, 'charge', () => Promise.reject(new Error('the bank is down'))),
  'something before the effect fails until attempts run out': async (_, ctx) => {
    if (ctx.attempt > 1) throw new Error('before it')
    await lost(ctx)
  },
  'a later run gives up for good': async (_, ctx) => {
    if (ctx.attempt > 1) throw new Permanent('no use')
    await lost(ctx)
  },
  'the first run gives up for good': async (_, ctx) => {
    await lost(ctx).catch(() => undefined)
    throw new Permanent('no use')
  },
  'its writes are refused': async (_, ctx) => {
    if (ctx.attempt === 1) await lost(ctx).catch(() => undefined)
    ctx.write(refused)
  },
  'it defers for longer than it may': async (_, ctx) => {
    if (ctx.attempt === 1) await lost(ctx)
    ctx.defer(1e9, 'not yet')
  },
  'the input of the effect changes': async (_, ctx) => {
    await ctx.effect('charge', () => Promise.reject(new Error('lost')), { input: ctx.attempt })
  },
}

test.each(Object.keys(ENDS))('a job with an open call waits for a person, although %s', async (end) => {
  const db = await freshDatabase()
  let handler = ENDS[end]
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 3 } }).on(
    'test',
    '*',
    (event, ctx) => handler?.(event, ctx),
    { name: 'app' },
  )
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'attention')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringMatching(/^effect "charge": it was called.*no attempts left/) },
  ])
  expect(await hooks.attention.list()).toMatchObject([{ key: 'charge', jobs: [{ receiptId: id }] }])
  expect(await hooks.metrics()).toContain('hookonce_effects_unknown{source="test",subscriber="app"} 1')
  expect(await db.rows('select outcome from hookonce.attempt order by fence desc limit 1')).toEqual([
    { outcome: 'attention' },
  ])
  handler = () => undefined
  await hooks.attention.confirmDone('charge', by)
  await jobsAre(db, 'processed')
})

test('each of several open calls is listed; if the first is abandoned, the others stay listed', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on(
    'test',
    '*',
    async (event, ctx) => {
      if (ctx.attempt === 1) await Promise.allSettled([lost(ctx, 'one'), lost(ctx, 'two')])
      if (event.type === 'asks') await lost(ctx, 'one')
      throw new Error('failed')
    },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'fails' })
  await jobsAre(db, 'attention')
  const listed = await hooks.attention.list()
  expect(listed.map(({ key, jobs }) => [key, jobs.length]).sort()).toEqual([
    ['one', expect.any(Number)],
    ['two', expect.any(Number)],
  ])
  expect(listed.flatMap(({ jobs }) => jobs)).toHaveLength(1)
  for (const { key } of listed) await hooks.attention.confirmDone(key, by)
  await jobsAre(db, 'failed')
  expect(await hooks.attention.list()).toEqual([])

  await db.rows(`delete from hookonce.effect`)
  await deliver(hooks, { id: 'evt_2', type: 'asks' })
  await jobsAre(db, 'attention')
  expect(await db.rows('select key, state::text from hookonce.effect order by key')).toEqual([
    { key: 'one', state: 'unknown' },
    { key: 'two', state: 'started' },
  ])
  await hooks.attention.abandon('one', by)
  await jobsAre(db, 'failed', 2)
  expect((await hooks.attention.list()).map(({ key }) => key).sort()).toEqual(['one', 'two'])
})

test('retry-same-key: a job that fails before it calls again waits for a person once more', async () => {
  const db = await freshDatabase()
  let isBroken = false
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on(
    'test',
    '*',
    async (_, ctx) => {
      if (isBroken) throw new Error('before it')
      await lost(ctx)
    },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'attention', 1)
  // The call of another job, not of this one.
  await deliver(hooks, { id: 'evt_2', type: 'a' })
  await jobsAre(db, 'attention', 2)
  await hooks.attention.abandon('charge', by)
  await jobsAre(db, 'failed', 2)
  const [second] = await db.rows<{ id: string }>(`select id from hookonce.receipt where event_key = 'evt_2'`)
  await hooks.replay(second?.id ?? '')
  await jobsAre(db, 'attention', 1)
  isBroken = true
  await hooks.attention.retrySameKey('charge', by)
  await jobsAre(db, 'attention', 1)
  expect(await hooks.attention.list()).toMatchObject([{ key: 'charge', jobs: [{ receiptId: second?.id }] }])
})

test('a job whose worker dies with it too often is not buried with an open call', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 2, { shard: 3 })
  const worker = await seedWorker(db)
  const [held] = await db.rows<{ id: string }>('select receipt_id as id from hookonce.job order by 1 limit 1')
  for (const [shard, key] of [
    [5, 'charge'],
    [9, 'mail'],
  ] as const) {
    await db.rows(
      `insert into hookonce.effect (shard, id, tenant, key, receipt_id, subscriber, fence, epoch, mode, downstream_key, state)
       values ($1, gen_random_uuid(), 'default', $2, $3, $4, 1, 0, 'keyed', 'k', 'started')`,
      [shard, key, held?.id, subscriber],
    )
  }
  await claimJobs(db.pool, { shard: 3, worker, slots: new Map([[subscriber, 9]]) })
  await db.rows('update hookonce.job set crashes = $1', [BURIED_AT - 1])
  const question = { shard: 3, deadWorkers: [worker], limit: 9, isCrash: true }
  const rescued = await rescueOrphans({ pool: db.pool, shards: 16 }, question)
  expect(rescued).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ receiptId: held?.id, buried: false, needsPerson: true }),
      expect.objectContaining({ buried: true, needsPerson: false }),
    ]),
  )
  expect(
    await db.rows(
      `select j.state::text, j.crashes, a.effect_id = e.id as linked from hookonce.job j
       left join hookonce.attention a using (shard, receipt_id, subscriber)
       left join hookonce.effect e on e.id = a.effect_id and e.shard = a.effect_shard order by j.receipt_id = $1 desc`,
      [held?.id],
    ),
  ).toEqual([
    { state: 'attention', crashes: BURIED_AT, linked: true },
    { state: 'failed', crashes: BURIED_AT, linked: null },
  ])
  expect(await db.rows('select distinct state::text from hookonce.effect')).toEqual([{ state: 'unknown' }])
})

test('a job that is discarded with an open call leaves a listed decision', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 2, { subscriber: 'gone' })
  await db.rows(`update hookonce.job set state = 'retrying', fence = 1, attempt = 1`)
  const [begun] = await db.rows<{ id: string }>('select receipt_id as id from hookonce.job limit 1')
  await db.rows(
    `insert into hookonce.effect (shard, id, tenant, key, receipt_id, subscriber, fence, epoch, mode, downstream_key, state)
     values (5, gen_random_uuid(), 'default', 'charge', $1, $2, 1, 0, 'keyed', 'k', 'started')`,
    [begun?.id, subscriber],
  )
  const request = { tenant: 'default', source: 'test', subscriber: 'gone' }

  expect(await settleWaiting({ pool: db.pool, shards: 16 }, request, by)).toBe(2)

  expect(await db.rows(`select state::text from hookonce.job`)).toEqual([
    { state: 'failed' },
    { state: 'failed' },
  ])
  expect(
    await testHooks(db)
      .on('test', '*', () => undefined)
      .attention.list(),
  ).toMatchObject([{ key: 'charge' }])
})

/** An event whose job ran for the subscriber "old", and waits for its next run. */
async function begunByOld(run: Handler) {
  const db = await freshDatabase()
  const old = testHooks(db, { retry: { baseDelayMs: 3_600_000, maxDelayMs: 3_600_000 } }).on(
    'test',
    '*',
    run,
    { name: 'old' },
  )
  await old.start()
  const id = await deliver(old, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'retrying')
  await old.stop()
  return { db, id }
}

/** Moves the jobs of "old" to "new", of which the handler runs then. */
async function moveToNew(db: TestDatabase, run: Handler) {
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on('test', '*', run, {
    name: 'new',
  })
  await hooks.start()
  const request = { tenant: 'default', source: 'test', subscriber: 'old', to: 'new', begun: true }
  expect(await settleWaiting({ pool: db.pool, shards: 16 }, request, by)).toBe(1)
  return hooks
}

test('a job that is moved with an open call, and then fails, waits for a person', async () => {
  const { db, id } = await begunByOld(async (_, ctx) => void (await lost(ctx)))
  let isBroken = true
  const hooks = await moveToNew(db, () => {
    if (isBroken) throw new Error('before it')
  })
  await jobsAre(db, 'attention')
  expect(await hooks.attention.list()).toMatchObject([
    { key: 'charge', jobs: [{ receiptId: id, subscriber: 'new' }] },
  ])
  isBroken = false
  await hooks.attention.confirmDone('charge', by)
  await jobsAre(db, 'processed', 2)
  expect(await hooks.attention.list()).toEqual([])
})

test('a fresh replay of a moved job calls the effects of its runs before the move again', async () => {
  const calls: string[] = []
  const charge = (ctx: Context) =>
    ctx.effect('charge', ({ idempotencyKey }) => void calls.push(idempotencyKey))
  const { db, id } = await begunByOld(async (_, ctx) => {
    await charge(ctx)
    throw new Error('not yet')
  })
  const hooks = await moveToNew(db, async (_, ctx) => charge(ctx))
  await jobsAre(db, 'processed', 2)
  expect(calls).toHaveLength(1)
  await hooks.replay(id, { subscriber: 'new', fresh: by })
  await until('it is called again', () => calls.length === 2)
  await jobsAre(db, 'processed', 2)
  expect(new Set(calls).size).toBe(2)
  expect(await db.rows('select epoch, state::text from hookonce.effect order by epoch')).toEqual([
    { epoch: 0, state: 'done' },
    { epoch: 1, state: 'done' },
  ])
})

test('a job that is moved to a subscriber with a job of its own leaves a listed decision', async () => {
  const { db } = await begunByOld(async (_, ctx) => void (await lost(ctx)))
  await db.rows(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', 'test', 'new', '*')`,
  )
  await db.rows(
    `insert into hookonce.job (shard, receipt_id, subscriber, state)
     select j.shard, j.receipt_id, s.id, 'processed'
     from hookonce.job j join hookonce.subscriber s on s.name = 'new'`,
  )
  const hooks = await moveToNew(db, () => undefined)
  expect(await hooks.attention.list()).toMatchObject([{ key: 'charge', jobs: [] }])
})
