import { expect, test } from 'vitest'
import { Permanent } from '../../../src/index.ts'
import { addCounts, type CountDelta, countNames } from '../../../src/ledger/stats/rollups.ts'
import { DAY_MS, HOUR_MS } from '../../../src/model/durations.ts'
import { meter } from '../../../src/observe/metrics.ts'
import { readStats } from '../../../src/operate/stats.ts'
import { countFlush } from '../../../src/upkeep/flush-counts.ts'
import { pruneStats } from '../../../src/upkeep/prune-stats.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { receiving } from '../../support/receiver.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

const ledgerOf = (db: TestDatabase) => ({ pool: db.pool, shards: 16 })

function delta(more: Partial<CountDelta> = {}): CountDelta {
  const zeros = Object.fromEntries(countNames.map((name) => [name, 0])) as Record<string, number>
  return { tenant: 'default', source: 'test', subscriber: '', accept: [], ...zeros, ...more } as CountDelta
}

test('the statistics of a known sequence are exact, including harmless repeats', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxDelayMs: 1 } })
  hooks.on(
    'test',
    '*',
    async (event, ctx) => {
      if (event.type === 'permanent') throw new Permanent('never')
      await ctx.effect('mail:1', () => 'sent', { mode: 'atLeastOnce' })
      if (event.type === 'shaky' && ctx.attempt === 1) throw new Error('not yet')
    },
    { name: 'app' },
  )
  await hooks.start()
  for (const [n, type] of ['good', 'permanent', 'shaky'].entries())
    await deliver(hooks, { id: `evt_${n}`, type })
  await until('all are done', async () => {
    return (await db.number(`select count(*) from hookonce.job where state in ('processed', 'failed')`)) === 3
  })
  await deliver(hooks, { id: 'evt_0', type: 'good' })
  await deliver(hooks, { id: 'evt_0', type: 'good' })
  await deliver(hooks, { id: 'evt_0', type: 'good', but: 'another body' })
  await hooks.fetch(
    new Request('http://app.test/in/test', { ...signed({ id: 'x', type: 'y' }), headers: {} }),
  )
  await hooks.fetch(new Request('http://app.test/in/other', signed({ id: 'x', type: 'y' })))
  await hooks.stop()

  const stats = await readStats(ledgerOf(db), { windowMs: DAY_MS })
  expect(stats.totals).toMatchObject({
    received: 3,
    duplicate: 3,
    mismatch: 1,
    rejected: 2,
    unsigned: 1,
    processed: 2,
    retrying: 1,
    failed: 1,
    // The effect ran in the first job. The second job requested it twice.
    spared: 2,
    harmlessRepeats: 4,
  })
  expect(stats.totals.acceptP50Ms).toBeGreaterThan(0)
  expect(stats.totals.acceptP99Ms).toBeGreaterThanOrEqual(stats.totals.acceptP50Ms ?? 0)
  expect(stats.sources.map(({ tenant, source, rejected }) => ({ tenant, source, rejected }))).toEqual([
    { tenant: '', source: '(unknown)', rejected: 1 },
    { tenant: 'default', source: 'test', rejected: 1 },
  ])
  expect(stats.subscribers).toMatchObject([
    { source: 'test', subscriber: 'app', processed: 2, failed: 1, received: 0 },
  ])
  // All of it happened in the last hour of the day, or the hour has ended meanwhile.
  const trend = stats.sources.find(({ source }) => source === 'test')?.trend ?? []
  expect(trend.slice(0, 22)).toEqual(Array(22).fill(0))
  expect(trend.slice(22).reduce((sum, received) => sum + received)).toBe(3)
  expect(trend).toHaveLength(24)
  const one = await readStats(ledgerOf(db), { windowMs: HOUR_MS, source: '(unknown)' })
  expect(one.totals).toMatchObject({ received: 0, rejected: 1, acceptP50Ms: null })
})

test('each window has its series, without holes, and the same totals', async () => {
  const db = await freshDatabase()
  await addCounts(db.pool, [delta({ received: 5, accept: [0, 0, 4, 0, 1] })])
  for (const [windowMs, points, minutes] of [
    [HOUR_MS, 60, 1],
    [DAY_MS, 144, 10],
    [7 * DAY_MS, 168, 60],
  ] as const) {
    const stats = await readStats(ledgerOf(db), { windowMs })
    expect(stats.bucketMinutes).toBe(minutes)
    expect(stats.series.length).toBe(points)
    expect(stats.series.reduce((all, { received }) => all + received, 0)).toBe(5)
    expect(stats.totals).toMatchObject({ received: 5, acceptP50Ms: 5, acceptP99Ms: 25 })
    const gaps = new Set(
      stats.series.slice(1).map(({ at }, n) => at.getTime() - (stats.series[n]?.at.getTime() ?? 0)),
    )
    expect([...gaps]).toEqual([minutes * 60_000])
  }
  await expect(readStats(ledgerOf(db), { windowMs: 8 * DAY_MS })).rejects.toThrow('kept for a week')
})

test('a process that only receives writes its counts too, and several processes add up', async () => {
  const db = await freshDatabase()
  for (const n of [1, 2]) {
    const receiver = receiving(db)
    await receiver.send({ id: `evt_${n}`, type: 'a' })
    await receiver.stop()
  }
  const { totals } = await readStats(ledgerOf(db), { windowMs: HOUR_MS })
  expect(totals).toMatchObject({ received: 2, duplicate: 0 })
  expect(
    await db.rows('select size, sum(received)::int as n from hookonce.rollup group by size order by size'),
  ).toEqual([
    { size: 1, n: 2 },
    { size: 10, n: 2 },
    { size: 60, n: 2 },
  ])
})

test('counts that could not be written are written by the next flush, once', async () => {
  const db = await freshDatabase()
  const counts = meter()
  const { flush } = countFlush(db, { snapshot: () => counts.snapshot(undefined), tenantOf: () => 'default' })
  const recorded = { source: 'test', outcome: 'recorded', status: 202, durationMs: 3 } as const
  counts.observer.delivery(recorded)
  await db.rows('alter table hookonce.rollup rename to rollup_gone')
  await expect(flush()).rejects.toThrow('rollup')
  await db.rows('alter table hookonce.rollup_gone rename to rollup')
  counts.observer.delivery(recorded)
  expect(await flush()).toBe(1)
  expect(await flush()).toBe(0)
  expect((await readStats(ledgerOf(db), { windowMs: HOUR_MS })).totals.received).toBe(2)
})

test('processes that flush the same sources at the same time neither deadlock nor lose a count', async () => {
  const db = await freshDatabase()
  const names = Array.from({ length: 20 }, (_, n) => `source-${n}`)
  const flushes = Array.from({ length: 40 }, (_, n) => {
    const deltas = names.map((source) => delta({ source, received: 1, accept: [1, 2] }))
    return addCounts(db.pool, n % 2 === 0 ? deltas : deltas.toReversed())
  })
  await Promise.all(flushes)
  expect(await db.number('select sum(received) from hookonce.rollup where size = 60')).toBe(800)
  expect(await db.number('select sum(n) from hookonce.rollup, unnest(accept) n where size = 60')).toBe(2400)
})

test('a flush locks rows in the order of their key, for any order of its counts', async () => {
  const db = await freshDatabase()
  const deltas = ['b', 'a'].map((source) => delta({ source, received: 1 }))
  await addCounts(db.pool, deltas)
  const holder = await db.pool.connect()
  await holder.query(`begin; select from hookonce.rollup where source = 'a' for update`)
  const flush = addCounts(db.pool, deltas)
  await until('the flush waits for the row of a', () =>
    db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  )
  // It locks none of the rows that come later, so no holder of them can wait for it.
  await holder.query(`select from hookonce.rollup where source = 'b' and size = 1 for update nowait`)
  await holder.query('commit')
  holder.release()
  await flush
})

test('old buckets are deleted, so the rows of a source are bounded', async () => {
  const db = await freshDatabase()
  await db.rows(`insert into hookonce.rollup (size, at, tenant, source, subscriber, received)
    select size, now() - age, 'default', 'test', '', 1
    from unnest('{1,10,60}'::smallint[]) size,
      unnest('{1 minute,119 minutes,121 minutes,7 days,9 days}'::interval[]) age`)
  expect(await pruneStats(ledgerOf(db))).toEqual({ buckets: 5, alerts: 0 })
  expect(
    await db.rows('select size, count(*)::int as n from hookonce.rollup group by size order by size'),
  ).toEqual([
    { size: 1, n: 2 },
    { size: 10, n: 4 },
    { size: 60, n: 4 },
  ])
})

test('a sweep does not wait for locked rows', async () => {
  const db = await freshDatabase()
  await db.rows(`insert into hookonce.rollup (size, at, tenant, source, subscriber, received)
    select 1, now() - interval '3 hours', 'default', source, '', 1 from unnest('{a,b}'::text[]) source`)
  await db.rows(`insert into hookonce.alert (id, opened_at, last_seen_at, resolved_at, rule, tenant, source, subscriber, says)
    select gen_random_uuid(), '2020-01-01', '2020-01-01', '2020-01-01', 'lag', 'default', source, '', ''
    from unnest('{a,b}'::text[]) source`)
  const holder = await db.pool.connect()
  await holder.query(`begin; select from hookonce.rollup where source = 'a' for update;
    select from hookonce.alert where source = 'a' for update`)
  expect(await pruneStats(ledgerOf(db))).toEqual({ buckets: 1, alerts: 1 })
  await holder.query('commit')
  holder.release()
  expect(await pruneStats(ledgerOf(db))).toEqual({ buckets: 1, alerts: 1 })
})
